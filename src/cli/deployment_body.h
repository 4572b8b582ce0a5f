/* A deployment as JSON, made from the options of `deployments create` and `edit`. */
#ifndef BF_CLI_DEPLOYMENT_BODY_H
#define BF_CLI_DEPLOYMENT_BODY_H

#include "cli/cli.h"

/* The options that both commands share, to be written into their tables. */
#define BF_DEPLOYMENT_OPTIONS                                                                                                      \
	{.name = "cron", .argument = "CRON", .help = "When: five or six fields"},                                                  \
			{.name = "every",                                                                                          \
					.argument = "D",                                                                           \
					.help = "When: every so often, 10m or PT10M"},                                             \
			{.name = "at",                                                                                             \
					.argument = "TIME",                                                                        \
					.help = "When: once, at this time by the clock of --tz"},                                  \
			{.name = "rule", .argument = "JSON", .help = "When: a rule as JSON"},                                      \
			{.name = "spread",                                                                                         \
					.argument = "D",                                                                           \
					.help = "Ready up to D after each due time, another place each time; none: at it"},        \
			{.name = "max-fires",                                                                                      \
					.argument = "N",                                                                           \
					.help = "Over after so many firings; none: never"},                                        \
			{.name = "tz", .argument = "ZONE", .help = "The zone of the rule (UTC)"},                                  \
			{.name = "webhook", .argument = "URL", .help = "What: an HTTP request"},                                   \
			{.name = "remote",                                                                                         \
					.argument = "URL",                                                                         \
					.help = "Sessions at a remote handler: not in this version"},                              \
			{.name = "chat",                                                                                           \
					.argument = "URL",                                                                         \
					.help = "A call of a chat API: not in this version"},                                      \
			{.name = "model",                                                                                          \
					.argument = "M",                                                                           \
					.help = "The model of --chat: not in this version"},                                       \
			{.name = "exec", .help = "What: a command of this machine, behind --"},                                    \
			{.name = "cwd",                                                                                            \
					.argument = "DIR",                                                                         \
					.help = "The command's folder (default: its Session's own)"},                              \
			{.name = "env",                                                                                            \
					.argument = "NAME=VALUE",                                                                  \
					.help = "A variable of the command",                                                       \
					.is_repeatable = true},                                                                    \
			{.name = "permanent-exit",                                                                                 \
					.argument = "N",                                                                           \
					.help = "An exit status that no attempt makes better",                                     \
					.is_repeatable = true},                                                                    \
			{.name = "output-limit",                                                                                   \
					.argument = "BYTES",                                                                       \
					.help = "What is kept of its output, first and last halves"},                              \
			{.name = "method",                                                                                         \
					.argument = "M",                                                                           \
					.help = "The webhook's method (POST)"},                                                    \
			{.name = "header",                                                                                         \
					.argument = "NAME=VALUE",                                                                  \
					.help = "A header of the webhook",                                                         \
					.is_repeatable = true},                                                                    \
			{.name = "body",                                                                                           \
					.argument = "JSON|@FILE",                                                                  \
					.help = "The webhook's body, sent as it is"},                                              \
			{.name = "secret", .argument = "NAME", .help = "The secret that signs"},                                   \
			{.name = "prompt",                                                                                         \
					.argument = "TEXT|@FILE",                                                                  \
					.help = "The prompt; @- reads standard input"},                                            \
			{.name = "input", .argument = "JSON|@FILE", .help = "The input"},                                          \
			{.name = "label",                                                                                          \
					.argument = "KEY=VALUE",                                                                   \
					.help = "A label; edit removes one by KEY alone",                                          \
					.is_repeatable = true},                                                                    \
			{.name = "missed",                                                                                         \
					.argument = "P",                                                                           \
					.help = "Due times that nobody covered: skip (fire_once, catch_up: not in this version)"}, \
			{.name = "overlap",                                                                                        \
					.argument = "P",                                                                           \
					.help = "While an earlier Run is open: allow (others: not in this version)"},              \
			{.name = "interrupted",                                                                                    \
					.argument = "P",                                                                           \
					.help = "A Run whose process died: resume or abandon"},                                    \
			{.name = "grace",                                                                                          \
					.argument = "D",                                                                           \
					.help = "Late, but fired as if covered"},                                                  \
			{.name = "late-limit",                                                                                     \
					.argument = "D",                                                                           \
					.help = "Later than this is missed"},                                                      \
			{.name = "timeout", .argument = "D", .help = "Of one attempt"},                                            \
			{.name = "session-timeout",                                                                                \
					.argument = "D",                                                                           \
					.help = "Of a Session: not in this version"},                                              \
			{.name = "attempts", .argument = "N", .help = "Attempts of each step"},                                    \
			{.name = "first-delay",                                                                                    \
					.argument = "D",                                                                           \
					.help = "Before the second attempt"},                                                      \
			{.name = "max-delay",                                                                                      \
					.argument = "D",                                                                           \
					.help = "Between attempts, at most"},                                                      \
			{.name = "on-exhausted",                                                                                   \
					.argument = "P",                                                                           \
					.help = "keep (disable: not in this version)"},                                            \
			{.name = "disable-after",                                                                                  \
					.argument = "N",                                                                           \
					.help = "After so many FAILED Runs: not in this version"},                                 \
			{.name = "notify",                                                                                         \
					.argument = "RULE",                                                                        \
					.help = "Not in this version",                                                             \
					.is_repeatable = true},                                                                    \
			{.name = "gap",                                                                                            \
					.argument = "P",                                                                           \
					.help = "A time that the clocks skip: at_end, skip, shift"},                               \
			{.name = "fold",                                                                                           \
					.argument = "P",                                                                           \
					.help = "A time that occurs twice: first, last, both"},                                    \
	{                                                                                                                          \
		.name = "deadline", .argument = "D",                                                                               \
		.help = "Alert when not COMPLETED by then: not in this version"                                                    \
	}

/* Only what was given. At most one of each kind of rule and of target; with `needs_all` exactly one.
 * BELFRY_USAGE names the option at fault; BELFRY_INVALID a file that cannot be taken. */
BF_MUST_CHECK enum belfry_status bf_deployment_body(struct bf_cli *cli, const struct bf_args *args,
		bool needs_all, json_t **ret_body, struct belfry_error *err);

/* Makes a merge patch (RFC 7396) of `body`, which `args` gave: input, the webhook's body and what --rule
 * gives become what was given, with nothing left of what they were, and so does a target of another kind.
 * --cron, --every and --at replace how a rule tells its times, and leave its limits: exceptions, window,
 * spread and count of firings. Changes `body`.
 * `old` is the deployment as it is. */
BF_MUST_CHECK enum belfry_status bf_deployment_patch(json_t *body, const struct bf_args *args,
		const json_t *old, struct belfry_error *err);

#endif
