/* The program: takes what the process was given (arguments, environment, streams), and hands it to the
 * command line. The only place that reads the environment for it, and that ends the process. */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/env.h"
#include "base/json.h"
#include "belfry/commands.h"
#include "host/targets/exec_supervisor.h"

/* An empty variable counts as unset. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* 0: not known, or no terminal. */
static size_t columns_of(int descriptor)
{
	struct winsize size;

	return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int main(int argc, char **argv)
{
	/* Another program in the same file: no setting, no store, nothing of what follows. */
	if (argc > 1 && strcmp(argv[1], BF_EXEC_SUPERVISOR) == 0) {
		return bf_exec_supervise(argc, argv);
	}
	const char *url = variable("BELFRY_URL");
	const char *term = variable("TERM");
	bool may_colour = variable("NO_COLOR") == NULL && term != NULL && strcmp(term, "dumb") != 0;
	struct bf_cli cli = {
			.env = bf_env_system(),
			.commands = bf_commands,
			.version = BF_VERSION,
			.url = url != NULL ? url : BF_CLI_URL,
			.token = variable("BELFRY_TOKEN"),
			.tz_directory = variable("TZDIR"),
			.out = stdout,
			.err = stderr,
			.is_out_terminal = isatty(STDOUT_FILENO) == 1,
			.is_err_terminal = isatty(STDERR_FILENO) == 1,
			.out_columns = columns_of(STDOUT_FILENO),
	};

	cli.is_out_coloured = cli.is_out_terminal && may_colour;
	cli.is_err_coloured = cli.is_err_terminal && may_colour;
	bf_json_init();
	return bf_cli_run(&cli, argc, argv);
}
