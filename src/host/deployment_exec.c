/* The target `exec` of a deployment: reading and writing its JSON.
 *
 * Refused here are variables that would change the program itself and not what it is told: those of the
 * loader, what shells run before their script, and the host's own BELFRY_ ones. No such list is whole: who
 * allows a script allows what its interpreter reads (docs/interface.md, "Allowed").
 * Not here  whether the command is allowed (deployments.c asks the list), and its running
 *           (targets/exec.c). */
#include <stdio.h>

#include "host/deployment.h"
#include "host/targets/secrets.h"

static void read_command(struct bf_json_reader *reader, const json_t **command)
{
	size_t total = 0;

	if (!bf_json_reader_array(reader, "command", BF_JSON_REQUIRED, 1, BF_EXEC_ARGUMENTS,
			    command)) {
		return;
	}
	for (size_t i = 0; i < json_array_size(*command); i++) {
		struct belfry_str word = {0};
		if (!bf_json_reader_item_string(reader, "command", *command, i, 0, BF_EXEC_BYTES,
				    &word)) {
			return;
		}
		total += word.len + 1;
		if (i == 0 &&
				(word.len > BF_EXEC_PATH_BYTES || word.len == 0 ||
						word.ptr[0] != '/')) {
			bf_json_reader_refuse(reader, "command", "0", BELFRY_INVALID,
					"command: the first item must be the absolute path of a "
					"program, like \"/opt/report\"");
			return;
		}
	}
	if (total > BF_EXEC_BYTES) {
		bf_json_reader_refuse(reader, "command", NULL, BELFRY_TOO_LARGE,
				"command: %zu bytes in all, and at most %d are taken: hand more over "
				"in the prompt",
				total, BF_EXEC_BYTES);
	}
}

static bool is_variable_name(const char *key)
{
	bool is_good = key[0] != '\0' && !(key[0] >= '0' && key[0] <= '9');

	for (const char *c = key; is_good && *c != '\0'; c++) {
		is_good = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
				(*c >= '0' && *c <= '9') || *c == '_';
	}
	return is_good;
}

/* Names, or beginnings of names where they end with '*'. */
static const char *const foreign_code[] = {"LD_*", "GLIBC_TUNABLES", "BASH_ENV", "BASH_FUNC_*",
		"ENV"};

static bool brings_foreign_code(struct belfry_str name)
{
	for (size_t i = 0; i < BF_COUNT(foreign_code); i++) {
		struct belfry_str known = bf_str(foreign_code[i]);
		bool is_prefix = known.ptr[known.len - 1] == '*';
		if (is_prefix ? bf_str_starts_with(name, bf_str_slice(known, 0, known.len - 1))
			      : bf_str_equal(name, known)) {
			return true;
		}
	}
	return false;
}

static void check_variable(struct bf_json_reader *reader, const char *key, const json_t *value)
{
	struct belfry_str name = bf_str(key);

	if (!is_variable_name(key)) {
		bf_json_reader_refuse(reader, "env", key, BELFRY_INVALID,
				"env: a name has letters, digits and '_', and does not begin with a "
				"digit");
	} else if (bf_str_starts_with(name, BF_STR("BELFRY_")) || brings_foreign_code(name)) {
		bf_json_reader_refuse(reader, "env", key, BELFRY_INVALID,
				"env: %.*s cannot be set: BELFRY_... are the host's, and LD_..., "
				"GLIBC_TUNABLES, BASH_ENV, BASH_FUNC_... and ENV would change the "
				"program itself",
				(int)BF_MIN(name.len, 60u), name.ptr);
	} else {
		bf_deployment_check_value(reader, "env", key, value);
	}
}

static void read_env(struct bf_json_reader *reader, const json_t **env)
{
	const char *key;
	json_t *value;
	size_t total = 0;

	if (!bf_json_reader_map(reader, "env", BF_JSON_NULLABLE, BF_EXEC_VARIABLES, env)) {
		return;
	}
	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)*env, key, value)
	{
		check_variable(reader, key, value);
		total += strlen(key) + 2 + bf_json_str(value).len;
	}
	if (total > BF_EXEC_BYTES) {
		bf_json_reader_refuse(reader, "env", NULL, BELFRY_TOO_LARGE,
				"env: %zu bytes in all, and at most %d are taken: hand more over in "
				"the prompt",
				total, BF_EXEC_BYTES);
	}
}

static void read_exits(struct bf_json_reader *reader, const json_t **exits)
{
	if (!bf_json_reader_array(reader, "permanent_exit", BF_JSON_NULLABLE, 0, BF_EXEC_EXITS,
			    exits)) {
		return;
	}
	for (size_t i = 0; i < json_array_size(*exits); i++) {
		const json_t *item = json_array_get(*exits, i);
		char place[24];
		if (json_is_integer(item) && json_integer_value(item) >= 1 &&
				json_integer_value(item) <= 255) {
			continue;
		}
		(void)snprintf(place, sizeof(place), "%zu", i);
		bf_json_reader_refuse(reader, "permanent_exit", place, BELFRY_INVALID,
				"permanent_exit: an exit status is a whole number from 1 to 255");
		return;
	}
}

void bf_deployment_read_exec(struct bf_json_reader *reader, struct bf_target_exec *ret_exec)
{
	ret_exec->output_limit = BF_EXEC_OUTPUT_BYTES;
	read_command(reader, &ret_exec->command);
	if (bf_json_reader_string(reader, "cwd", BF_JSON_NULLABLE, 1, BF_EXEC_PATH_BYTES,
			    &ret_exec->cwd) &&
			ret_exec->cwd.ptr[0] != '/') {
		bf_json_reader_refuse(reader, "cwd", NULL, BELFRY_INVALID,
				"cwd: the absolute path of a folder is needed, or null for the "
				"Session's own");
	}
	read_env(reader, &ret_exec->env);
	read_exits(reader, &ret_exec->permanent_exit);
	(void)bf_json_reader_int(reader, "output_limit", BF_JSON_NULLABLE, 1, BF_EXEC_OUTPUT_MAX,
			&ret_exec->output_limit);
}

/* `otherwise` is taken. */
static void write_shared(struct bf_json_writer *writer, const char *name, const json_t *value,
		json_t *otherwise)
{
	if (value != NULL) {
		json_decref(otherwise);
		otherwise = json_incref((json_t *)(uintptr_t)value);
	}
	bf_json_write_value(writer, name, otherwise);
}

void bf_deployment_write_exec(struct bf_json_writer *writer, const struct bf_target_exec *exec)
{
	write_shared(writer, "command", exec->command, json_array());
	bf_json_write_str_or_null(writer, "cwd", exec->cwd);
	write_shared(writer, "env", exec->env, json_object());
	write_shared(writer, "permanent_exit", exec->permanent_exit, json_array());
	bf_json_write_int(writer, "output_limit", exec->output_limit);
}
