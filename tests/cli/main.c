/* Tests of the command line that need no server: parsing, time forms, escaping, the command table. */
#include <stdlib.h>

#include "cases.h"

const struct bf_command *const test_commands[] = {&bf_command_next, &bf_command_explain,
		&bf_command_deployments, &bf_command_trigger, &bf_command_runs, &bf_command_logs,
		&bf_command_why, &bf_command_forecast, &bf_command_doctor, &bf_command_apply,
		&bf_command_export, &bf_command_import, &bf_command_calendars, &bf_command_settings,
		&bf_command_completion, NULL};

static belfry_time fixed_wall(void *data)
{
	(void)data;
	return INT64_C(1796126400) * BELFRY_SECOND;
}

static const struct bf_env fixed_env = {.wall = fixed_wall};

void fixture_open(struct fixture *fixture)
{
	*fixture = (struct fixture){.cli = {.env = &fixed_env,
						    .commands = test_commands,
						    .version = "0",
						    .url = BF_CLI_URL}};
	fixture->cli.out = open_memstream(&fixture->out, &fixture->out_len);
	fixture->cli.err = open_memstream(&fixture->err, &fixture->err_len);
	assert_non_null(fixture->cli.out);
	assert_non_null(fixture->cli.err);
}

int fixture_run(struct fixture *fixture, const char *const *argv)
{
	int argc = 0;

	while (argv[argc] != NULL) {
		argc++;
	}
	int status = bf_cli_run(&fixture->cli, argc, (char *const *)(uintptr_t)argv);
	assert_int_equal(fflush(fixture->cli.out), 0);
	assert_int_equal(fflush(fixture->cli.err), 0);
	return status;
}

void fixture_close(struct fixture *fixture)
{
	(void)fclose(fixture->cli.out);
	(void)fclose(fixture->cli.err);
	free(fixture->out);
	free(fixture->err);
}

int main(void)
{
	bf_json_init();
	return run_args_tests() + run_body_tests() + run_crontab_tests() + run_file_tests() +
			run_memory_tests() + run_plot_tests() + run_table_tests() +
			run_text_tests() + run_time_tests() + run_yaml_tests();
}
