/* From the lines of a crontab to deployments. A line becomes {SHELL, "-c", LINE}, so that cron's own
 * meaning stays; variables hold for the lines below them, as in cron.
 *
 * Invariants  a refused line makes no deployment; the same text makes the same names, whatever is there
 *             already; nothing is dropped in silence: what has no meaning here is in the notes.
 * Not here    reading a line (crontab.c), and whether the server takes it (import.c). */
#include "cli/crontab_import.h"

#include "base/error.h"
#include "cli/crontab.h"

#define SHELL_DEFAULT "/bin/sh"

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

struct importer {
	const struct bf_import_options *options;
	struct bf_import *import;
	json_t *env;   /* owned: variables that hold below */
	json_t *names; /* owned: name -> how often it was made */
	struct belfry_error *err;
};

/* One line on its way into the report. */
struct entry {
	struct belfry_str text;
	json_t *report; /* owned */
	json_t *notes;  /* borrowed from the report */
};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static void importer_fini(struct importer *importer)
{
	json_decref(importer->env);
	json_decref(importer->names);
}

static void entry_fini(struct entry *entry)
{
	json_decref(entry->report);
}

/* --- the report --- */

static enum belfry_status put(const struct importer *importer, json_t *object, const char *name,
		json_t *value)
{
	return json_object_set_new(object, name, value) == 0 ? BELFRY_OK : no_memory(importer->err);
}

static enum belfry_status put_note(const struct importer *importer, const struct entry *entry,
		const char *note)
{
	return json_array_append_new(entry->notes, json_string(note)) == 0
			? BELFRY_OK
			: no_memory(importer->err);
}

static bool is_refused(const struct entry *entry)
{
	return json_is_string(json_object_get(entry->report, "reason"));
}

/* The move changes what the line means: the note says how. What is refused stays so. */
static enum belfry_status put_change(const struct importer *importer, const struct entry *entry,
		const char *note)
{
	enum belfry_status status = is_refused(entry)
			? BELFRY_OK
			: put(importer, entry->report, "result", json_string("changed"));

	return status == BELFRY_OK ? put_note(importer, entry, note) : status;
}

static size_t column_of(struct belfry_str text, size_t position)
{
	size_t column = 1;

	for (size_t i = 0; i < BF_MIN(position, text.len); i++) {
		column += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
	}
	return column;
}

static enum belfry_status refuse(const struct importer *importer, const struct entry *entry,
		size_t position, const char *reason)
{
	size_t column = column_of(entry->text, position);
	enum belfry_status status = put(importer, entry->report, "result", json_string("refused"));

	if (status == BELFRY_OK) {
		status = put(importer, entry->report, "column", json_integer((json_int_t)column));
	}
	if (status == BELFRY_OK) {
		status = put(importer, entry->report, "reason", bf_json_new_str(bf_str(reason)));
	}
	importer->import->refused_count++;
	return status;
}

/* --- variables --- */

struct meaning {
	const char *name;
	bool is_changed; /* what it asks for is not done here */
	bool is_left_out;
	const char *note;
};

static const struct meaning meanings[] = {
		{"SHELL", false, false, "the shell of the commands below"},
		{"HOME", false, false, "the folder of the commands below"},
		{"CRON_TZ", false, false, "the zone of the due times below"},
		{"TZ", false, false,
				"for the commands alone, as in Vixie cron and cronie; CRON_TZ is for due times"},
		{"MAILTO", true, false,
				"this version sends no mail; each Run keeps its output: `belfry logs`"},
		{"MAILFROM", true, false, "this version sends no mail"},
		{"RANDOM_DELAY", true, false, "not carried out: a Run starts when it is due"},
		{"LOGNAME", true, true, "left out: a crontab does not say who runs it"},
		{"USER", true, true, "left out: a crontab does not say who runs it"},
};

static const struct meaning *find_meaning(struct belfry_str name)
{
	for (size_t i = 0; i < BF_COUNT(meanings); i++) {
		if (bf_str_equal(name, bf_str(meanings[i].name))) {
			return &meanings[i];
		}
	}
	return NULL;
}

static enum belfry_status take_variable(const struct importer *importer, const struct entry *entry,
		const struct bf_crontab_line *line)
{
	const struct meaning *meaning = find_meaning(line->name);
	enum belfry_status status = put(importer, entry->report, "name",
			json_stringn(line->name.ptr, line->name.len));

	if (status == BELFRY_OK && meaning != NULL) {
		status = meaning->is_changed ? put_change(importer, entry, meaning->note)
					     : put_note(importer, entry, meaning->note);
	}
	if (status != BELFRY_OK || (meaning != NULL && meaning->is_left_out)) {
		return status;
	}
	if (json_object_setn_new(importer->env, line->name.ptr, line->name.len,
			    json_stringn(line->value.len > 0 ? line->value.ptr : "",
					    line->value.len)) != 0) {
		return no_memory(importer->err);
	}
	return BELFRY_OK;
}

/* What a variable says, `otherwise` where it is not set or empty. */
static struct belfry_str variable(const struct importer *importer, const char *name,
		struct belfry_str otherwise)
{
	struct belfry_str value = bf_json_str(json_object_get(importer->env, name));

	return value.len > 0 ? value : otherwise;
}

/* --- commands --- */

/* *ret_is_good: the calendar takes it. */
static enum belfry_status check_rule(const struct importer *importer, const struct entry *entry,
		const struct bf_crontab_line *line, struct belfry_str zone, bool *ret_is_good)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	struct belfry_error err = {0};

	options.five_fields = true;
	enum belfry_status status = belfry_rule_new(importer->options->zones, line->rule, zone,
			&options, &rule, &err);
	*ret_is_good = status == BELFRY_OK;
	if (status == BELFRY_OK) {
		return BELFRY_OK;
	}
	if (status == BELFRY_NOMEM) {
		return no_memory(importer->err);
	}
	size_t at = (size_t)(line->rule.ptr - entry->text.ptr);
	return refuse(importer, entry, at + (err.position > 0 ? (size_t)err.position - 1 : 0),
			err.message);
}

static enum belfry_status check_user(const struct importer *importer, const struct entry *entry,
		const struct bf_crontab_line *line, bool *ret_is_good)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf reason = {0};
	struct belfry_str own = importer->options->user;

	*ret_is_good = line->user.len == 0 || bf_str_equal(line->user, own);
	if (*ret_is_good) {
		return BELFRY_OK;
	}
	bf_buf_appendf(&reason,
			"it runs as %.*s, and Belfry as %.*s: import it into a Belfry that %.*s runs, "
			"with --user %.*s",
			BF_STR_ARGS(line->user), BF_STR_ARGS(own), BF_STR_ARGS(line->user),
			BF_STR_ARGS(line->user));
	if (bf_buf_status(&reason) != BELFRY_OK) {
		return no_memory(importer->err);
	}
	return refuse(importer, entry, (size_t)(line->user.ptr - entry->text.ptr), reason.ptr);
}

/* The second command of one name is NAME-2: by the order of the lines alone. `names` remembers how far the
 * numbers of a name have come. */
static enum belfry_status make_name(const struct importer *importer, struct belfry_str command,
		struct bf_buf *name)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf plain = {0};
	enum belfry_status status = bf_crontab_put_name(&plain, command);
	json_int_t count = status == BELFRY_OK
			? json_integer_value(json_object_get(importer->names, plain.ptr))
			: 0;

	do {
		bf_buf_clear(name);
		bf_buf_append_str(name, bf_buf_str(&plain));
		if (++count > 1) {
			bf_buf_appendf(name, "-%lld", (long long)count);
		}
		if (status != BELFRY_OK || bf_buf_status(name) != BELFRY_OK) {
			return no_memory(importer->err);
		}
	} while (count > 1 && json_object_get(importer->names, name->ptr) != NULL);
	status = put(importer, importer->names, plain.ptr, json_integer(count));
	return status == BELFRY_OK && count > 1
			? put(importer, importer->names, name->ptr, json_integer(1))
			: status;
}

static json_t *new_text(struct belfry_str text)
{
	return json_stringn(text.len > 0 ? text.ptr : "", text.len);
}

/* A value that may be missing must not hide a lack of memory: each is put by itself. */
static enum belfry_status make_target(const struct importer *importer, struct belfry_str shell,
		struct belfry_str command, json_t **ret_target)
{
	struct belfry_str folder = variable(importer, "HOME", importer->options->home);
	BF_CLEANUP(bf_cleanup_json)
	json_t *target = json_pack("{s:s, s:[o, s, o], s:{}}", "kind", "exec", "command",
			new_text(shell), "-c", new_text(command), "env");
	enum belfry_status status = target != NULL ? BELFRY_OK : no_memory(importer->err);

	/* json_copy would not tell of a member that it had no memory for. */
	if (status == BELFRY_OK &&
			json_object_update(json_object_get(target, "env"), importer->env) != 0) {
		status = no_memory(importer->err);
	}

	if (status == BELFRY_OK && folder.len > 0) {
		status = put(importer, target, "cwd", new_text(folder));
	}
	if (status == BELFRY_OK) {
		*ret_target = json_incref(target);
	}
	return status;
}

struct parts {
	struct bf_buf command;
	struct bf_buf input;
	struct bf_buf rule;
	struct bf_buf name;
	struct belfry_str zone;
	bool has_input;
};

static void parts_fini(struct parts *parts)
{
	bf_buf_fini(&parts->command);
	bf_buf_fini(&parts->input);
	bf_buf_fini(&parts->rule);
	bf_buf_fini(&parts->name);
}

static enum belfry_status put_deployment(const struct importer *importer, const struct parts *parts)
{
	struct belfry_str shell = variable(importer, "SHELL", BF_STR(SHELL_DEFAULT));
	json_t *target = NULL;
	enum belfry_status status = make_target(importer, shell, bf_buf_str(&parts->command),
			&target);

	if (status != BELFRY_OK) {
		return status;
	}
	BF_CLEANUP(bf_cleanup_json)
	json_t *body = json_pack("{s:o, s:{s:o}, s:o, s:o, s:{s:s}}", "name",
			new_text(bf_buf_str(&parts->name)), "rule", "cron",
			new_text(bf_buf_str(&parts->rule)), "timezone", new_text(parts->zone),
			"target", target, "labels", BF_IMPORT_LABEL, BF_IMPORT_VALUE);
	status = body != NULL ? BELFRY_OK : no_memory(importer->err);
	if (status == BELFRY_OK && parts->has_input) {
		status = put(importer, body, "prompt", new_text(bf_buf_str(&parts->input)));
	}
	if (status == BELFRY_OK &&
			json_object_setn_new(importer->import->shells, shell.ptr, shell.len,
					json_true()) != 0) {
		status = no_memory(importer->err);
	}
	if (status == BELFRY_OK && json_array_append(importer->import->deployments, body) != 0) {
		status = no_memory(importer->err);
	}
	return status;
}

static enum belfry_status make_parts(const struct importer *importer,
		const struct bf_crontab_line *line, struct parts *parts)
{
	parts->zone = variable(importer, "CRON_TZ", importer->options->zone);
	parts->has_input = bf_crontab_split_command(line->command, &parts->command, &parts->input);
	bf_crontab_put_rule(&parts->rule, line->rule);
	if (bf_buf_status(&parts->command) != BELFRY_OK ||
			bf_buf_status(&parts->input) != BELFRY_OK ||
			bf_buf_status(&parts->rule) != BELFRY_OK) {
		return no_memory(importer->err);
	}
	return make_name(importer, bf_buf_str(&parts->command), &parts->name);
}

static enum belfry_status put_command_notes(const struct importer *importer,
		const struct entry *entry, const struct bf_crontab_line *line,
		const struct parts *parts)
{
	enum belfry_status status = BELFRY_OK;

	if (line->is_quiet) {
		status = put_change(importer, entry,
				"the - in front keeps cron from writing to syslog: here it has no meaning");
	}
	if (status == BELFRY_OK && parts->has_input) {
		status = put_note(importer, entry, "what follows % is its standard input");
	}
	if (status == BELFRY_OK && parts->command.len > 0 &&
			parts->command.ptr[parts->command.len - 1] == '\\') {
		status = put_note(importer, entry,
				"a backslash at its end does not join the next line, in cron neither");
	}
	return status;
}

static enum belfry_status take_command(const struct importer *importer, const struct entry *entry,
		const struct bf_crontab_line *line)
{
	BF_CLEANUP(parts_fini) struct parts parts = {0};
	bool is_good = true;
	enum belfry_status status = check_user(importer, entry, line, &is_good);

	if (status == BELFRY_OK && is_good) {
		status = check_rule(importer, entry, line,
				variable(importer, "CRON_TZ", importer->options->zone), &is_good);
	}
	if (status != BELFRY_OK || !is_good) {
		return status;
	}
	status = make_parts(importer, line, &parts);
	if (status == BELFRY_OK) {
		status = put(importer, entry->report, "name", new_text(bf_buf_str(&parts.name)));
	}
	if (status == BELFRY_OK) {
		status = put(importer, entry->report, "rule", new_text(bf_buf_str(&parts.rule)));
	}
	if (status == BELFRY_OK) {
		status = put(importer, entry->report, "timezone", new_text(parts.zone));
	}
	if (status == BELFRY_OK) {
		status = put_command_notes(importer, entry, line, &parts);
	}
	return status == BELFRY_OK ? put_deployment(importer, &parts) : status;
}

/* --- lines --- */

static enum belfry_status take_parsed(const struct importer *importer, const struct entry *entry,
		const struct bf_crontab_line *line)
{
	switch (line->kind) {
	case BF_CRONTAB_VARIABLE: return take_variable(importer, entry, line);
	case BF_CRONTAB_COMMAND: return take_command(importer, entry, line);
	case BF_CRONTAB_NOTHING: break;
	}
	return BELFRY_OK;
}

static enum belfry_status take_line(const struct importer *importer, struct belfry_str text,
		size_t number, bool has_return)
{
	struct bf_crontab_line line = {0};
	struct belfry_error why = {0};
	enum belfry_status parsed = BELFRY_INVALID;
	BF_CLEANUP(entry_fini)
	struct entry entry = {.text = text,
			.report = json_pack("{s:I, s:n, s:s, s:n, s:n, s:n, s:n, s:[]}", "line",
					(json_int_t)number, "column", "result", "taken", "name",
					"rule", "timezone", "reason", "notes")};

	if (entry.report == NULL) {
		return no_memory(importer->err);
	}
	entry.notes = json_object_get(entry.report, "notes");
	enum belfry_status status = BELFRY_OK;
	if (!bf_str_is_utf8(text)) {
		status = refuse(importer, &entry, 0, "the line is not UTF-8: write it so");
	} else {
		parsed = bf_crontab_parse_line(text, importer->options->has_user, &line, &why);
		if (parsed == BELFRY_OK && line.kind == BF_CRONTAB_NOTHING) {
			return BELFRY_OK;
		}
		status = parsed == BELFRY_OK
				? take_parsed(importer, &entry, &line)
				: refuse(importer, &entry, (size_t)why.position - 1, why.message);
	}
	if (status == BELFRY_OK && has_return && parsed == BELFRY_OK) {
		status = put_change(importer, &entry,
				"the carriage return at its end is left out; cron would keep it");
	}
	if (status == BELFRY_OK && json_array_append(importer->import->lines, entry.report) != 0) {
		status = no_memory(importer->err);
	}
	return status;
}

enum belfry_status bf_crontab_import(struct belfry_str text,
		const struct bf_import_options *options, struct bf_import *ret_import,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_import_fini)
	struct bf_import import = {.deployments = json_array(),
			.lines = json_array(),
			.shells = json_object()};
	BF_CLEANUP(importer_fini)
	struct importer importer = {.options = options,
			.import = &import,
			.env = json_object(),
			.names = json_object(),
			.err = err};
	struct belfry_str line;
	bool has_return;
	bool is_whole = import.deployments != NULL && import.lines != NULL &&
			import.shells != NULL && importer.env != NULL && importer.names != NULL;
	enum belfry_status status = is_whole ? BELFRY_OK : no_memory(err);

	for (size_t number = 1;
			status == BELFRY_OK && bf_crontab_next_line(&text, &line, &has_return);
			number++) {
		status = take_line(&importer, line, number, has_return);
	}
	if (status == BELFRY_OK) {
		*ret_import = import;
		import = (struct bf_import){0};
	}
	return status;
}

void bf_import_fini(struct bf_import *import)
{
	json_decref(import->deployments);
	json_decref(import->lines);
	json_decref(import->shells);
	*import = (struct bf_import){0};
}
