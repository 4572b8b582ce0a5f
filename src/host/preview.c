/* Previews: the due times of a rule, the rule in words, and what may surprise in it.
 *
 * Not here  the words and what is warned of: the calendar has both (belfry_rule_explain). Shared
 *           calendars: they stand in the rule before it is parsed (calendar_rule.c). */
#include "host/preview.h"

#include "base/error.h"
#include "base/timefmt.h"
#include "host/calendars_priv.h"
#include "host/deployment.h"
#include "host/host_priv.h"

struct preview {
	struct bf_host *host;
	struct bf_deployment d; /* of which only rule, zone and policies are filled */
	belfry_time from;
	size_t max;
	struct belfry_rule *rule;
	belfry_time due[BF_PREVIEW_DUE_MAX];
	size_t count;
	struct belfry_arena arena; /* of what the explanation holds */
	struct belfry_explanation explanation;
};

static void preview_fini(struct preview *preview)
{
	bf_deployment_fini(&preview->d);
	belfry_rule_free(preview->rule);
	belfry_arena_fini(&preview->arena);
}

static void list_due(struct preview *preview)
{
	uint32_t max_fires = belfry_rule_max_fires(preview->rule);
	size_t max = max_fires != 0 ? BF_MIN(preview->max, max_fires)
				    : preview->max; /* as though none had been yet */
	belfry_time from = preview->from;

	while (preview->count < max &&
			belfry_rule_next(preview->rule, from, &preview->due[preview->count]) ==
					BELFRY_OK) {
		from = preview->due[preview->count++];
	}
}

/* --- the answer --- */

static enum belfry_status read_query(struct preview *preview, const json_t *body,
		struct belfry_error *err)
{
	struct bf_json_reader reader;
	int64_t n = BF_PREVIEW_DUE_DEFAULT;

	bf_json_reader_begin(&reader, body, "", err);
	bf_deployment_read_rule(&reader, &preview->d);
	(void)bf_json_reader_time(&reader, "from", BF_JSON_NULLABLE, &preview->from);
	(void)bf_json_reader_int(&reader, "n", BF_JSON_NULLABLE, INT64_MIN, INT64_MAX, &n);
	bf_deployment_read_dst(&reader, &preview->d.policies);
	preview->max = (size_t)BF_MIN(BF_MAX(n, 1), BF_PREVIEW_DUE_MAX);
	return bf_json_reader_end(&reader);
}

static json_t *new_due(const struct preview *preview)
{
	json_t *list = json_array();

	for (size_t i = 0; i < preview->count && list != NULL; i++) {
		struct bf_json_writer w;
		char local[BF_TIME_TEXT_BYTES];
		json_t *due = NULL;
		bf_time_format(preview->due[i], belfry_rule_offset(preview->rule, preview->due[i]),
				local);
		bf_json_writer_begin(&w);
		bf_json_write_time(&w, "at", preview->due[i]);
		bf_json_write_text(&w, "local", local);
		if (bf_json_writer_end(&w, &due) != BELFRY_OK ||
				json_array_append_new(list, due) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* NULL: no memory. */
static json_t *new_warnings(const struct belfry_explanation *explanation)
{
	json_t *list = json_array();

	for (size_t i = 0; i < explanation->warning_count && list != NULL; i++) {
		struct bf_json_writer w;
		json_t *warning = NULL;
		bf_json_writer_begin(&w);
		bf_json_write_text(&w, "code", explanation->warnings[i].code);
		bf_json_write_str(&w, "message", explanation->warnings[i].text);
		if (bf_json_writer_end(&w, &warning) != BELFRY_OK ||
				json_array_append_new(list, warning) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static enum belfry_status write_answer(struct preview *preview, json_t **ret_answer,
		struct belfry_error *err)
{
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	bf_json_write_str(&w, "timezone_used", bf_deployment_zone(&preview->d));
	bf_json_write_text(&w, "tz_version", bf_host_tz_version(preview->host));
	bf_json_write_value(&w, "due", new_due(preview));
	bf_json_write_str(&w, "sentence", preview->explanation.sentence);
	bf_json_write_text(&w, "class",
			preview->explanation.class_ == BELFRY_RULE_FIXED_TIME ? "fixed-time"
									      : "interval-like");
	bf_json_write_value(&w, "warnings", new_warnings(&preview->explanation));
	if (bf_json_writer_end(&w, ret_answer) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

enum belfry_status bf_preview(struct bf_host *host, const json_t *body, json_t **ret_answer,
		struct belfry_error *err)
{
	const struct bf_env *env = host->options.env;
	BF_CLEANUP(preview_fini)
	struct preview preview = {
			.host = host,
			.d = {.is_enabled = true, .policies = BELFRY_POLICIES_INIT},
			.from = env->wall(env->data),
			.explanation = BELFRY_EXPLANATION_INIT,
	};

	*ret_answer = NULL;
	enum belfry_status status = read_query(&preview, body, err);
	preview.d.created_at = preview.from;
	if (status == BELFRY_OK) {
		status = bf_calendars_expand(host, NULL, &preview.d, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployment_parse_rule(&preview.d, host->options.zones, &preview.rule,
				err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	list_due(&preview);
	status = belfry_rule_explain(preview.rule, preview.from, &preview.arena,
			&preview.explanation);
	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "%s", belfry_status_text(status));
	}
	return write_answer(&preview, ret_answer, err);
}
