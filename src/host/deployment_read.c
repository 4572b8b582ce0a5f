/* Reading a deployment's content, strictly: every member is asked for by name, and what is
 * read-only, unknown, out of range or not offered by this version is refused, never ignored.
 *
 * null reads as "not given" everywhere: the default. Not here: the rule's meaning (deployment.c),
 * the target (deployment_target.c), and whether a target's address is allowed (deployments.c). */
#include "host/deployment.h"

#include "base/error.h"
#include "model/definition.h"

/* Defaults by target (interface.md, targets). */
#define WEBHOOK_ATTEMPTS 8
#define WEBHOOK_TIMEOUT  BELFRY_MINUTE
#define EXEC_ATTEMPTS    1

#define COUNT_MAX    1000000
#define DURATION_MAX (400 * 366 * BELFRY_DAY)

static const char *const missed_words[] = {"skip", "fire_once", "catch_up", NULL};
static const char *const overlap_words[] = {"allow", "skip", "queue", "queue_latest",
		"cancel_previous", NULL};
static const char *const interrupted_words[] = {"resume", "abandon", NULL};
static const char *const exhausted_words[] = {"keep", "disable", NULL};
static const char *const gap_words[] = {"at_end", "skip", "shift", NULL};
static const char *const fold_words[] = {"first", "last", "both", NULL};

/* The word's number, or `present` where none is given. */
static unsigned read_word(struct bf_json_reader *reader, const char *name, const char *const *words,
		unsigned present)
{
	(void)bf_json_reader_enum(reader, name, BF_JSON_NULLABLE, words, &present);
	return present;
}

static void read_duration(struct bf_json_reader *reader, const char *name,
		belfry_duration *duration)
{
	(void)bf_json_reader_duration(reader, name, BF_JSON_NULLABLE, 0, DURATION_MAX, duration);
}

static void read_count(struct bf_json_reader *reader, const char *name, int64_t min,
		uint32_t *count)
{
	int64_t value = *count;

	if (bf_json_reader_int(reader, name, BF_JSON_NULLABLE, min, COUNT_MAX, &value)) {
		*count = (uint32_t)value;
	}
}

static void read_missed(struct bf_json_reader *reader, struct belfry_policies *p)
{
	struct bf_json_reader child;

	if (!bf_json_reader_enter(reader, "missed", BF_JSON_NULLABLE, &child)) {
		return;
	}
	p->missed = (enum belfry_missed)read_word(&child, "policy", missed_words,
			(unsigned)p->missed);
	read_duration(&child, "max_age", &p->missed_max_age);
	read_count(&child, "max_count", 1, &p->missed_max_count);
	(void)bf_json_reader_end(&child); /* the failure went up */
}

static void read_retry(struct bf_json_reader *reader, struct belfry_policies *p)
{
	struct bf_json_reader child;

	if (!bf_json_reader_enter(reader, "retry", BF_JSON_NULLABLE, &child)) {
		return;
	}
	read_count(&child, "max_attempts", 1, &p->max_attempts);
	read_duration(&child, "first_delay", &p->first_delay);
	read_duration(&child, "max_delay", &p->max_delay);
	(void)bf_json_reader_end(&child); /* the failure went up */
}

static void read_on_failure(struct bf_json_reader *reader, struct belfry_policies *p)
{
	struct bf_json_reader child;

	if (!bf_json_reader_enter(reader, "on_failure", BF_JSON_NULLABLE, &child)) {
		return;
	}
	read_count(&child, "disable_after", 1, &p->disable_after);
	(void)bf_json_reader_end(&child); /* the failure went up */
}

void bf_deployment_read_dst(struct bf_json_reader *reader, struct belfry_policies *p)
{
	struct bf_json_reader child;

	if (!bf_json_reader_enter(reader, "dst", BF_JSON_NULLABLE, &child)) {
		return;
	}
	p->dst_gap = (enum belfry_dst_gap)read_word(&child, "gap", gap_words, (unsigned)p->dst_gap);
	p->dst_fold = (enum belfry_dst_fold)read_word(&child, "fold", fold_words,
			(unsigned)p->dst_fold);
	(void)bf_json_reader_end(&child); /* the failure went up */
}

static void read_policies(struct bf_json_reader *reader, struct belfry_policies *p)
{
	struct bf_json_reader child;

	if (!bf_json_reader_enter(reader, "policies", BF_JSON_NULLABLE, &child)) {
		return;
	}
	read_missed(&child, p);
	read_duration(&child, "grace", &p->grace);
	read_duration(&child, "late_limit", &p->late_limit);
	p->overlap = (enum belfry_overlap)read_word(&child, "overlap", overlap_words,
			(unsigned)p->overlap);
	p->interrupted = (enum belfry_interrupted)read_word(&child, "interrupted",
			interrupted_words, (unsigned)p->interrupted);
	read_retry(&child, p);
	read_duration(&child, "timeout", &p->timeout);
	read_duration(&child, "session_timeout", &p->session_timeout);
	p->on_exhausted = (enum belfry_on_exhausted)read_word(&child, "on_exhausted",
			exhausted_words, (unsigned)p->on_exhausted);
	read_on_failure(&child, p);
	bf_deployment_read_dst(&child, p);
	read_duration(&child, "deadline", &p->deadline);
	(void)bf_json_reader_end(&child); /* the failure went up */
}

static void refuse_read_only(struct bf_json_reader *reader)
{
	static const char *const names[] = {"id", "owner", "phase", "phase_reason", "managed_by",
			"paused_until", "next_due", "last_error", "revision", "created_at",
			"updated_at", "timezone_used"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_json_reader_has(reader, names[i])) {
			bf_json_reader_refuse(reader, names[i], NULL, BELFRY_INVALID,
					"\"%s\" is read-only: leave it out", names[i]);
		}
	}
}

static bool has_control_character(struct belfry_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f) {
			return true;
		}
	}
	return false;
}

static void read_name(struct bf_json_reader *reader, struct belfry_str *name)
{
	if (!bf_json_reader_string(reader, "name", BF_JSON_REQUIRED, 1, BF_DEPLOYMENT_NAME_BYTES,
			    name)) {
		return;
	}
	if (has_control_character(*name)) {
		bf_json_reader_refuse(reader, "name", NULL, BELFRY_INVALID,
				"\"name\" holds a control character: leave it out");
	}
}

/* {"cron": TEXT} alone goes to the calendar as TEXT, so that a fault's position is one in it. */
static struct belfry_str plain_cron(const json_t *rule)
{
	struct belfry_str cron = bf_json_str(json_object_get(rule, "cron"));

	if (json_object_size(rule) != 1 || cron.len == 0 || cron.ptr[0] == '{') {
		return (struct belfry_str){0};
	}
	return cron;
}

static void read_rule(struct bf_json_reader *reader, struct bf_deployment *d)
{
	if (!bf_json_reader_value(reader, "rule", BF_JSON_REQUIRED, &d->rule_json)) {
		return;
	}
	if (!json_is_object(d->rule_json)) {
		bf_json_reader_refuse(reader, "rule", NULL, BELFRY_INVALID,
				"\"rule\" must be an object like {\"cron\": \"0 9 * * 1-5\"}");
		return;
	}
	struct belfry_str cron = plain_cron(d->rule_json);
	bf_buf_append_str(&d->rule, cron);
	if (cron.len == 0 && bf_json_dump(d->rule_json, &d->rule) != BELFRY_OK) {
		d->rule.is_failed = true;
	}
	if (bf_buf_status(&d->rule) != BELFRY_OK) {
		bf_json_reader_refuse(reader, "rule", NULL, BELFRY_NOMEM, "out of memory");
	} else if (d->rule.len > BF_DEPLOYMENT_RULE_BYTES) {
		bf_json_reader_refuse(reader, "rule", NULL, BELFRY_INVALID,
				"\"rule\" has %zu bytes, and at most %d are taken: make it shorter",
				d->rule.len, BF_DEPLOYMENT_RULE_BYTES);
	}
}

void bf_deployment_read_rule(struct bf_json_reader *reader, struct bf_deployment *d)
{
	read_rule(reader, d);
	(void)bf_json_reader_string(reader, "timezone", BF_JSON_NULLABLE, 1, BELFRY_ZONE_BYTES,
			&d->timezone);
}

static void check_dumped_size(struct bf_json_reader *reader, const char *name, const json_t *value,
		size_t max)
{
	size_t size = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);

	if (size > max) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_TOO_LARGE,
				"\"%s\" has %zu bytes as JSON, and at most %zu are taken: send less",
				name, size, max);
	}
}

static void read_labels(struct bf_json_reader *reader, const json_t **labels)
{
	const char *key;
	json_t *value;

	if (!bf_json_reader_map(reader, "labels", BF_JSON_NULLABLE, BF_DEPLOYMENT_LABELS, labels)) {
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)*labels, key, value)
	{
		struct belfry_str text;
		if (key[0] == '\0' || strlen(key) > 63) {
			bf_json_reader_refuse(reader, "labels", NULL, BELFRY_INVALID,
					"a label's name has 1 to 63 bytes");
			return;
		}
		if (!bf_json_reader_map_string(reader, "labels", *labels, key, 0, 200, &text)) {
			return;
		}
	}
}

/* Named by interface.md, carried out by a later version: only what asks for nothing is taken. */
static void refuse_notify(struct bf_json_reader *reader)
{
	const json_t *value;

	if (bf_json_reader_value(reader, "notify", BF_JSON_NULLABLE, &value) &&
			!(json_is_array(value) && json_array_size(value) == 0)) {
		bf_json_reader_refuse(reader, "notify", NULL, BELFRY_INVALID,
				"notify: this version does not offer notifications; leave it out");
	}
}

static struct belfry_policies default_policies(enum bf_target_kind kind, belfry_duration grace)
{
	struct belfry_policies policies = BELFRY_POLICIES_INIT;

	policies.grace = grace;
	switch (kind) {
	case BF_TARGET_WEBHOOK:
		policies.max_attempts = WEBHOOK_ATTEMPTS;
		policies.timeout = WEBHOOK_TIMEOUT;
		break;
	case BF_TARGET_EXEC:
		policies.max_attempts = EXEC_ATTEMPTS;
		policies.timeout = 0;
		policies.interrupted = BELFRY_INTERRUPTED_ABANDON;
		break;
	}
	return policies;
}

static void read_members(struct bf_json_reader *reader, belfry_duration grace,
		struct bf_deployment *d)
{
	refuse_read_only(reader);
	read_name(reader, &d->name);
	(void)bf_json_reader_bool(reader, "enabled", BF_JSON_NULLABLE, &d->is_enabled);
	bf_deployment_read_rule(reader, d);
	(void)bf_json_reader_string(reader, "prompt", BF_JSON_NULLABLE, 0,
			BF_DEPLOYMENT_PROMPT_BYTES, &d->prompt);
	if (bf_json_reader_value(reader, "input", BF_JSON_NULLABLE, &d->input)) {
		check_dumped_size(reader, "input", d->input, BF_DEPLOYMENT_INPUT_BYTES);
	}
	bf_deployment_read_target(reader, &d->target);
	if (d->target.webhook.body != NULL) {
		check_dumped_size(reader, "target", d->target.webhook.body,
				BF_DEPLOYMENT_INPUT_BYTES);
	}
	d->policies = default_policies(d->target.kind, grace);
	read_policies(reader, &d->policies);
	refuse_notify(reader);
	read_labels(reader, &d->labels);
}

/* Members of the record alone. */
static void read_stored(struct bf_json_reader *reader, struct bf_deployment *d)
{
	const json_t *calendars;
	struct belfry_str text;

	(void)bf_json_reader_string(reader, "disabled_reason", BF_JSON_NULLABLE, 0,
			BF_DEPLOYMENT_REASON_BYTES, &d->reason);
	if (bf_json_reader_array(reader, "calendars", BF_JSON_NULLABLE, 0, SIZE_MAX, &calendars)) {
		d->expansion.calendars = json_incref((json_t *)(uintptr_t)calendars);
	}
	if (bf_json_reader_string(reader, "rule_expanded", BF_JSON_NULLABLE, 0, BELFRY_RULE_BYTES,
			    &text)) {
		bf_buf_append_str(&d->expansion.text, text);
	}
	if (bf_buf_status(&d->expansion.text) != BELFRY_OK) {
		bf_json_reader_refuse(reader, NULL, NULL, BELFRY_NOMEM, "out of memory");
	}
}

enum belfry_status bf_deployment_read(json_t *content, const struct bf_deployment_options *options,
		struct bf_deployment *ret_deployment, struct belfry_error *err)
{
	struct bf_json_reader reader;
	BF_CLEANUP(bf_deployment_fini)
	struct bf_deployment d = {.is_enabled = true};

	bf_json_reader_begin(&reader, content, "", err);
	read_members(&reader, options->grace, &d);
	if (options->is_stored) {
		read_stored(&reader, &d);
	}
	enum belfry_status status = bf_json_reader_end(&reader);
	if (status == BELFRY_OK) {
		status = bf_policies_check(&d.policies, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	d.content = json_incref(content);
	*ret_deployment = d;
	d = (struct bf_deployment){0};
	return BELFRY_OK;
}
