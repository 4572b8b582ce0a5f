/* The line of progress. Goes to standard error, so that what is piped stays clean. */
#include "cli/progress.h"

void bf_progress_show(const struct bf_cli *cli, const char *what, size_t done, size_t total)
{
	if (!cli->is_err_terminal) {
		return;
	}
	(void)fprintf(cli->err, "\r\033[K%s: %zu", what, done);
	if (total > 0) {
		(void)fprintf(cli->err, " of %zu", total);
	}
	(void)fflush(cli->err);
}

void bf_progress_end(const struct bf_cli *cli)
{
	if (cli->is_err_terminal) {
		(void)fputs("\r\033[K", cli->err);
	}
}
