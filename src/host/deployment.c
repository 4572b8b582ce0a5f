/* A deployment's rule, and its JSON on the way out.
 *
 * Invariant  what bf_deployment_write_content writes, bf_deployment_read reads back to the same
 *            value: every default is spelt out. Not here: the reading (deployment_read.c). */
#include "host/deployment.h"

#include "base/error.h"
#include "base/timefmt.h"

#define ZONE_DEFAULT "UTC" /* of the owner */

void bf_deployment_fini(struct bf_deployment *deployment)
{
	bf_buf_fini(&deployment->rule);
	bf_expansion_fini(&deployment->expansion);
	json_decref(deployment->content);
	*deployment = (struct bf_deployment){0};
}

struct belfry_str bf_deployment_zone(const struct bf_deployment *deployment)
{
	return deployment->timezone.len > 0 ? deployment->timezone : BF_STR(ZONE_DEFAULT);
}

struct belfry_str bf_deployment_rule(const struct bf_deployment *deployment)
{
	const struct bf_buf *expanded = &deployment->expansion.text;

	return bf_buf_str(expanded->len > 0 ? expanded : &deployment->rule);
}

/* The text is an expression without escapes, else the calendar gives no position. */
int64_t bf_deployment_rule_position(struct belfry_str rule, int64_t position)
{
	size_t start = BF_MIN((size_t)position - 1, rule.len);

	while (start > 0 && rule.ptr[start - 1] != '"') {
		start--;
	}
	return position - (int64_t)start;
}

/* The calendar knows neither where the rule stood nor that it was cron text within an object. */
static void place_rule_error(const struct bf_deployment *deployment, struct belfry_error *err)
{
	bool is_cron = deployment->rule.len > 0 && deployment->rule.ptr[0] != '{';
	char inner[BELFRY_ERROR_POINTER_BYTES];

	if (err == NULL || bf_str_equal(bf_str(err->pointer), BF_STR("/timezone"))) {
		return;
	}
	memcpy(inner, err->pointer, sizeof(inner));
	bf_error_prefix(err, "rule: ");
	struct belfry_str place = is_cron ? BF_STR("/rule/cron") : BF_STR("/rule");
	memcpy(err->pointer, place.ptr, place.len + 1);
	size_t rest = strlen(inner);
	if (!is_cron && place.len + rest < sizeof(err->pointer)) {
		memcpy(err->pointer + place.len, inner, rest + 1);
	}
	if (!is_cron && err->position > 0) {
		err->position = bf_deployment_rule_position(bf_deployment_rule(deployment),
				err->position);
	}
}

enum belfry_status bf_deployment_parse_rule(const struct bf_deployment *deployment,
		struct belfry_zones *zones, struct belfry_rule **ret_rule, struct belfry_error *err)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule = NULL;

	options.gap = deployment->policies.dst_gap;
	options.fold = deployment->policies.dst_fold;
	options.anchor = deployment->created_at;
	enum belfry_status status = belfry_rule_new(zones, bf_deployment_rule(deployment),
			bf_deployment_zone(deployment), &options, &rule, err);
	if (status != BELFRY_OK) {
		place_rule_error(deployment, err);
		return status;
	}
	if (ret_rule != NULL) {
		*ret_rule = rule;
	} else {
		belfry_rule_free(rule);
	}
	return BELFRY_OK;
}

/* --- writing --- */

static const char *missed_name(enum belfry_missed missed)
{
	switch (missed) {
	case BELFRY_MISSED_SKIP: return "skip";
	case BELFRY_MISSED_FIRE_ONCE: return "fire_once";
	case BELFRY_MISSED_CATCH_UP: return "catch_up";
	case BELFRY_MISSED_COUNT: break;
	}
	return "?";
}

static const char *overlap_name(enum belfry_overlap overlap)
{
	switch (overlap) {
	case BELFRY_OVERLAP_ALLOW: return "allow";
	case BELFRY_OVERLAP_SKIP: return "skip";
	case BELFRY_OVERLAP_QUEUE: return "queue";
	case BELFRY_OVERLAP_QUEUE_LATEST: return "queue_latest";
	case BELFRY_OVERLAP_CANCEL_PREVIOUS: return "cancel_previous";
	case BELFRY_OVERLAP_COUNT: break;
	}
	return "?";
}

static const char *gap_name(enum belfry_dst_gap gap)
{
	switch (gap) {
	case BELFRY_DST_GAP_AT_END: return "at_end";
	case BELFRY_DST_GAP_SKIP: return "skip";
	case BELFRY_DST_GAP_SHIFT: return "shift";
	case BELFRY_DST_GAP_COUNT: break;
	}
	return "?";
}

static const char *fold_name(enum belfry_dst_fold fold)
{
	switch (fold) {
	case BELFRY_DST_FOLD_FIRST: return "first";
	case BELFRY_DST_FOLD_LAST: return "last";
	case BELFRY_DST_FOLD_BOTH: return "both";
	case BELFRY_DST_FOLD_COUNT: break;
	}
	return "?";
}

/* Puts what `inner` has built under `name` of `outer`. */
static void write_object(struct bf_json_writer *outer, const char *name,
		struct bf_json_writer *inner)
{
	json_t *object = NULL;

	if (bf_json_writer_end(inner, &object) != BELFRY_OK) {
		outer->is_failed = true;
		return;
	}
	bf_json_write_value(outer, name, object);
}

static void write_missed(struct bf_json_writer *outer, const struct belfry_policies *p)
{
	struct bf_json_writer w;
	belfry_duration own_age = p->missed == BELFRY_MISSED_FIRE_ONCE ? 7 * BELFRY_DAY
								       : BELFRY_HOUR;

	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "policy", missed_name(p->missed));
	bf_json_write_duration(&w, "max_age", p->missed_max_age != 0 ? p->missed_max_age : own_age);
	bf_json_write_int(&w, "max_count", p->missed_max_count != 0 ? p->missed_max_count : 10);
	write_object(outer, "missed", &w);
}

static void write_retry(struct bf_json_writer *outer, const struct belfry_policies *p)
{
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	bf_json_write_int(&w, "max_attempts", p->max_attempts);
	bf_json_write_duration(&w, "first_delay", p->first_delay);
	bf_json_write_duration(&w, "max_delay", p->max_delay);
	write_object(outer, "retry", &w);
}

static void write_on_failure(struct bf_json_writer *outer, const struct belfry_policies *p)
{
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	if (p->disable_after > 0) {
		bf_json_write_int(&w, "disable_after", p->disable_after);
	} else {
		bf_json_write_null(&w, "disable_after");
	}
	write_object(outer, "on_failure", &w);
}

static void write_dst(struct bf_json_writer *outer, const struct belfry_policies *p)
{
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "gap", gap_name(p->dst_gap));
	bf_json_write_text(&w, "fold", fold_name(p->dst_fold));
	write_object(outer, "dst", &w);
}

static void write_policies(struct bf_json_writer *outer, const struct belfry_policies *p)
{
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	write_missed(&w, p);
	bf_json_write_duration(&w, "grace", p->grace);
	bf_json_write_duration(&w, "late_limit", p->late_limit);
	bf_json_write_text(&w, "overlap", overlap_name(p->overlap));
	bf_json_write_text(&w, "interrupted",
			p->interrupted == BELFRY_INTERRUPTED_ABANDON ? "abandon" : "resume");
	write_retry(&w, p);
	/* Zero (no limit) is written as PT0S: null would read back as the default. */
	bf_json_write_duration(&w, "timeout", p->timeout);
	bf_json_write_duration(&w, "session_timeout", p->session_timeout);
	bf_json_write_text(&w, "on_exhausted",
			p->on_exhausted == BELFRY_EXHAUSTED_DISABLE ? "disable" : "keep");
	write_on_failure(&w, p);
	write_dst(&w, p);
	bf_json_write_duration_or_null(&w, "deadline", p->deadline);
	write_object(outer, "policies", &w);
}

/* A value of the content, shared; `otherwise` (taken) where there is none. */
static void write_shared(struct bf_json_writer *writer, const char *name, const json_t *value,
		json_t *otherwise)
{
	if (value == NULL) {
		bf_json_write_value(writer, name, otherwise);
		return;
	}
	json_decref(otherwise);
	bf_json_write_value(writer, name, json_incref((json_t *)(uintptr_t)value));
}

static void write_members(struct bf_json_writer *writer, const struct bf_deployment *d)
{
	write_shared(writer, "rule", d->rule_json, json_null());
	bf_json_write_str_or_null(writer, "timezone", d->timezone);
	bf_json_write_str(writer, "prompt", d->prompt);
	write_shared(writer, "input", d->input, json_null());
	bf_deployment_write_target(writer, &d->target);
	write_policies(writer, &d->policies);
	bf_json_write_value(writer, "notify", json_array());
	write_shared(writer, "labels", d->labels, json_object());
}

enum belfry_status bf_deployment_write_content(const struct bf_deployment *d, json_t **ret_content)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	bf_json_write_str(&writer, "name", d->name);
	bf_json_write_bool(&writer, "enabled", d->is_enabled);
	write_members(&writer, d);
	bf_json_write_str_or_null(&writer, "disabled_reason", d->reason);
	return bf_json_writer_end(&writer, ret_content);
}

static void write_next_due(struct bf_json_writer *writer, belfry_time next)
{
	char text[BF_TIME_TEXT_BYTES];
	json_t *list = json_array();

	if (list != NULL && next != 0 && next != BELFRY_TIME_NEVER) {
		bf_time_format(next, 0, text);
		if (json_array_append_new(list, json_string(text)) != 0) {
			writer->is_failed = true;
		}
	}
	bf_json_write_value(writer, "next_due", list);
}

/* Why it does not fire: the engine's own reason, else that of whoever disabled it. */
static struct belfry_str phase_reason(const struct bf_deployment *d,
		const struct bf_deployment_state *state)
{
	if (state->phase_reason.len > 0) {
		return state->phase_reason;
	}
	return d->is_enabled ? (struct belfry_str){0} : d->reason;
}

enum belfry_status bf_deployment_write(const struct bf_deployment *d,
		const struct bf_deployment_state *state, json_t **ret_object)
{
	struct bf_json_writer writer;
	bool is_quarantined = state->phase == BELFRY_PHASE_QUARANTINED;
	struct belfry_str last_error = state->last_error;

	if (last_error.len == 0 && is_quarantined) {
		last_error = state->phase_reason;
	}
	bf_json_writer_begin(&writer);
	bf_json_write_text(&writer, "id", d->id);
	bf_json_write_str(&writer, "name", d->name);
	bf_json_write_text(&writer, "owner", BF_OWNER_DEFAULT);
	bf_json_write_bool(&writer, "enabled", d->is_enabled);
	bf_json_write_text(&writer, "phase", belfry_phase_name(state->phase));
	write_members(&writer, d);
	bf_json_write_null(&writer, "managed_by");
	bf_json_write_str_or_null(&writer, "phase_reason", phase_reason(d, state));
	bf_json_write_null(&writer, "paused_until");
	write_next_due(&writer, d->is_enabled ? state->next_due : BELFRY_TIME_NEVER);
	bf_json_write_str_or_null(&writer, "last_error", last_error);
	bf_json_write_str(&writer, "timezone_used", bf_deployment_zone(d));
	bf_json_write_int(&writer, "revision", d->revision);
	bf_json_write_time(&writer, "created_at", d->created_at);
	bf_json_write_time(&writer, "updated_at", d->updated_at);
	return bf_json_writer_end(&writer, ret_object);
}
