/* The one list of what `belfry` can do: the commands of the cli layer, and those that wire a host and so
 * live here. The order is that of the help text. */
#include "belfry/commands.h"

#include "belfry/demo.h"
#include "belfry/serve.h"
#include "belfry/simulate.h"

const struct bf_command *const bf_commands[] = {
		&bf_command_demo,
		&bf_command_serve,
		&bf_command_next,
		&bf_command_explain,
		&bf_command_deployments,
		&bf_command_calendars,
		&bf_command_trigger,
		&bf_command_runs,
		&bf_command_logs,
		&bf_command_why,
		&bf_command_forecast,
		&bf_command_apply,
		&bf_command_export,
		&bf_command_import,
		&bf_command_settings,
		&bf_command_doctor,
		&bf_command_simulate,
		&bf_command_completion,
		NULL,
};
