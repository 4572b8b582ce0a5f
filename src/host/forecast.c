/* Forecasts: deployments are read page by page into a load (load.h), which counts and plans; the few that
 * are named are looked up at the end.
 *
 * Invariant  a forecast is bounded in time and memory, whatever there is: pages by their bytes, the load by
 *            its own, reading, counting and planning by a time limit each. What was not counted is told.
 * Not here   counting and planning (load.c, load_spread.c). */
#include "host/forecast.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"
#include "host/backend.h"
#include "host/deployment.h"
#include "host/host_priv.h"
#include "host/load.h"

#define READ_TIME  (6 * BELFRY_SECOND)
#define COUNT_TIME (3 * BELFRY_SECOND)
#define PLAN_TIME  (4 * BELFRY_SECOND)
#define PAGE_FIRST 25
#define PAGE_ROWS  200
#define PAGE_BYTES ((size_t)4 * 1024 * 1024)

struct forecast {
	struct bf_host *host;
	const struct bf_forecast_query *query;
	struct bf_boot_time deadline;
	struct belfry_arena arenas[2]; /* by turns: a page's position lies in the one before it */
	unsigned turn;
	struct belfry_document_query page;
	struct bf_load load;
	struct bf_load_plan plan;
	uint64_t left_out_count;
};

static void forecast_fini(struct forecast *f)
{
	bf_load_fini(&f->load);
	belfry_arena_fini(&f->arenas[0]);
	belfry_arena_fini(&f->arenas[1]);
}

static void set_deadline(struct forecast *f, belfry_duration limit)
{
	const struct bf_env *env = f->host->options.env;

	f->deadline = bf_boot_add(env->boot(env->data), limit);
}

static bool is_late(void *data)
{
	const struct forecast *f = data;
	const struct bf_env *env = f->host->options.env;

	return bf_boot_since(env->boot(env->data), f->deadline) > 0;
}

/* --- reading --- */

static bool has_label(const struct bf_deployment *d, const struct bf_forecast_query *query)
{
	const json_t *value;

	if (query->label_name.len == 0) {
		return true;
	}
	value = json_object_getn(d->labels, query->label_name.ptr, query->label_name.len);
	return value != NULL && bf_str_equal(bf_json_str(value), query->label_value);
}

static enum belfry_status put_deployment(struct forecast *f, const struct bf_deployment *d,
		const struct belfry_schedule_state *state, struct belfry_error *err)
{
	struct bf_load_rule rule = {
			.text = bf_deployment_rule(d),
			.zone = bf_deployment_zone(d),
			.options = BELFRY_RULE_OPTIONS_INIT,
	};
	struct belfry_id id;

	if ((state != NULL && state->is_known && state->phase != BELFRY_PHASE_ACTIVE) ||
			belfry_id_parse(bf_str(d->id), &id) != BELFRY_OK) {
		f->left_out_count++;
		return BELFRY_OK;
	}
	rule.options.gap = d->policies.dst_gap;
	rule.options.fold = d->policies.dst_fold;
	rule.options.anchor = d->created_at;
	rule.since = bf_time_add(d->updated_at, 1); /* the revision in force: due strictly after */
	if (state != NULL && state->is_known && state->fired_count > 0) {
		rule.fired_count = (uint64_t)state->fired_count;
	}
	enum belfry_status status = bf_load_put(&f->load, f->host->options.zones, id, &rule, err);
	if (status != BELFRY_OK && status != BELFRY_NOMEM) {
		f->left_out_count++; /* its zone is gone, say: it does not fire */
		status = BELFRY_OK;
	}
	return status;
}

static enum belfry_status put_document(struct forecast *f, const struct belfry_document *document,
		const struct belfry_schedule_state *state, struct belfry_error *err)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	enum belfry_status status = bf_record_decode(f->host, document, &d, err);

	if (status == BELFRY_CORRUPT) {
		f->left_out_count++;
		return BELFRY_OK;
	}
	if (status != BELFRY_OK || !has_label(&d, f->query)) {
		return status;
	}
	return put_deployment(f, &d, state, err);
}

/* What the engine says of a page's; *ret_states is NULL where the provider cannot say. */
static enum belfry_status ask_states(struct forecast *f, struct belfry_arena *arena, size_t count,
		struct belfry_schedule_state **ret_states, struct belfry_error *err)
{
	struct belfry_str ids[PAGE_ROWS];

	*ret_states = NULL;
	for (size_t i = 0; i < count; i++) {
		ids[i] = f->page.documents[i].id;
	}
	if (count == 0) {
		return BELFRY_OK;
	}
	enum belfry_status status = belfry_scheduler_state(f->host->options.scheduler, ids, count,
			arena, ret_states, err);
	if (status == BELFRY_CANNOT) {
		*ret_states = NULL;
		status = BELFRY_OK;
	}
	return status;
}

/* The next page is as long as pages like this one may be. */
static void turn_page(struct forecast *f, size_t count)
{
	const struct belfry_document *last = &f->page.documents[count - 1];
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += f->page.documents[i].bytes.len;
	}
	f->page.limit = (uint32_t)BF_MAX(BF_MIN(PAGE_BYTES / (bytes / count + 1), PAGE_ROWS), 1);
	f->page.after_owner = last->owner;
	f->page.after_name = last->name;
	f->page.after_id = last->id;
}

static enum belfry_status read_page(struct forecast *f, struct belfry_error *err)
{
	struct belfry_arena *arena = &f->arenas[f->turn++ % 2];
	struct belfry_schedule_state *states = NULL;

	belfry_arena_reset(arena);
	enum belfry_status status = bf_backend_list_documents(f->host->options.store, &f->page,
			arena, err);
	size_t count = BF_MIN(f->page.count, (size_t)f->page.limit);
	if (status == BELFRY_OK) {
		status = ask_states(f, arena, count, &states, err);
	}
	for (size_t i = 0; i < count && status == BELFRY_OK; i++) {
		status = put_document(f, &f->page.documents[i], states != NULL ? &states[i] : NULL,
				err);
	}
	if (status == BELFRY_OK && count > 0) {
		turn_page(f, count);
	} else {
		f->page.has_more = false;
	}
	return status;
}

static enum belfry_status read_all(struct forecast *f, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	f->page = (struct belfry_document_query){
			.size = sizeof(f->page),
			.kind = BF_STR(BF_RECORD_KIND),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.name_prefix = f->query->q,
			.flags_mask = BF_RECORD_F_GOING | BF_RECORD_F_ENABLED,
			.flags_value = BF_RECORD_F_ENABLED,
			.limit = PAGE_FIRST,
			.has_more = true,
	};
	while (status == BELFRY_OK && f->page.has_more && !is_late(f) &&
			!bf_load_is_full(&f->load)) {
		status = read_page(f, err);
	}
	return status;
}

/* --- the answer --- */

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static belfry_time time_of(const struct forecast *f, size_t minute)
{
	return f->load.from + (belfry_duration)minute * BELFRY_MINUTE;
}

/* {"id", "name"} of a member, in a writer that is begun. One that was deleted meanwhile has no name. */
static void write_member(struct forecast *f, struct bf_json_writer *w, uint32_t member)
{
	struct belfry_arena *arena = &f->arenas[0];
	struct belfry_document document;
	char id[BELFRY_ID_TEXT_BYTES];

	belfry_arena_reset(arena);
	belfry_id_format(f->load.members[member].id, id);
	bf_json_write_text(w, "id", id);
	if (bf_record_get(f->host, bf_str(id), arena, &document, NULL) == BELFRY_OK) {
		bf_json_write_str(w, "name", document.name);
	} else {
		bf_json_write_null(w, "name");
	}
}

static json_t *new_counts(const struct forecast *f)
{
	size_t each = (size_t)(f->query->bucket / BELFRY_MINUTE);
	json_t *list = json_array();
	uint64_t sum = 0;

	for (size_t i = 0; i < f->load.minute_count && list != NULL; i++) {
		sum += f->load.counts[i];
		if ((i + 1) % each != 0 && i + 1 < f->load.minute_count) {
			continue;
		}
		if (json_array_append_new(list, json_integer((json_int_t)sum)) != 0) {
			json_decref(list);
			return NULL;
		}
		sum = 0;
	}
	return list;
}

/* Appends what the writer holds. *list becomes NULL where memory lacks. */
static void append(json_t **list, struct bf_json_writer *w)
{
	json_t *item = NULL;

	if (bf_json_writer_end(w, &item) != BELFRY_OK || *list == NULL ||
			json_array_append_new(*list, item) != 0) {
		json_decref(*list);
		*list = NULL;
	}
}

static json_t *new_named(struct forecast *f, const struct bf_load_peak *peak)
{
	json_t *list = json_array();

	for (size_t i = 0; i < peak->named_count && list != NULL; i++) {
		struct bf_json_writer w;
		bf_json_writer_begin(&w);
		write_member(f, &w, peak->named[i].member);
		bf_json_write_int(&w, "count", peak->named[i].count);
		append(&list, &w);
	}
	return list;
}

static json_t *new_peaks(struct forecast *f)
{
	json_t *list = json_array();

	for (size_t i = 0; i < f->load.peak_count && list != NULL; i++) {
		const struct bf_load_peak *peak = &f->load.peaks[i];
		struct bf_json_writer w;
		bf_json_writer_begin(&w);
		bf_json_write_time(&w, "at", time_of(f, peak->minute));
		bf_json_write_int(&w, "count", peak->count);
		bf_json_write_int(&w, "minutes", peak->minute_count);
		bf_json_write_int(&w, "deployment_count", peak->member_count);
		bf_json_write_value(&w, "deployments", new_named(f, peak));
		append(&list, &w);
	}
	return list;
}

static json_t *new_changes(struct forecast *f)
{
	json_t *list = json_array();
	size_t wanted = f->plan.obstacle == BF_LOAD_POSSIBLE ? f->load.group_count : 0;

	for (size_t i = 0; i < wanted; i++) {
		const struct bf_load_group *group = &f->load.groups[i];
		for (uint32_t j = 0; j < group->changed_count && list != NULL; j++) {
			struct bf_json_writer w;
			bf_json_writer_begin(&w);
			write_member(f, &w, group->first + j);
			bf_json_write_duration(&w, "spread", group->window);
			append(&list, &w);
		}
	}
	return list;
}

struct obstacle_words {
	const char *code;
	const char *sentence;
};

/* NULL where there is a plan. */
static const struct obstacle_words *words_of(enum bf_load_obstacle obstacle)
{
	static const struct obstacle_words words[] = {
			[BF_LOAD_NO_PEAK] = {"NO_PEAK", "no minute has more than one"},
			[BF_LOAD_FLAT] = {"FLAT",
					"the load is flat: the mean of all minutes is above half of "
					"the busiest one"},
			[BF_LOAD_ONE_ALONE] = {"ONE_ALONE",
					"one deployment alone has more than half of it within the "
					"minute: let its rule fire less often"},
			[BF_LOAD_TOO_CLOSE] = {"TOO_CLOSE",
					"most of it is due again before a spread would be over: let "
					"those rules fire less often"},
			[BF_LOAD_IS_SPREAD] = {"IS_SPREAD",
					"most of it has a spread, or a limit of firings, already"},
			[BF_LOAD_NOT_ENOUGH] = {"NOT_ENOUGH",
					"windows up to an hour, and up to the next due time, do not "
					"halve it"},
			[BF_LOAD_TOO_MANY] = {"TOO_MANY",
					"more than 10000 deployments would have to change: ask for a "
					"part of them, by label or by the beginning of the name"},
			[BF_LOAD_TOO_LATE] = {"TOO_LATE",
					"it took too long to find out: ask for a part of the "
					"deployments, by label or by the beginning of the name"},
	};

	return obstacle != BF_LOAD_POSSIBLE ? &words[obstacle] : NULL;
}

static json_t *new_reason(struct forecast *f)
{
	const struct obstacle_words *words = words_of(f->plan.obstacle);
	struct bf_json_writer w;
	json_t *reason = NULL;

	if (words == NULL) {
		return json_null();
	}
	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "code", words->code);
	bf_json_write_text(&w, "message", words->sentence);
	bf_json_write_time(&w, "at", time_of(f, f->plan.minute));
	if (f->plan.obstacle == BF_LOAD_ONE_ALONE) {
		struct bf_json_writer member;
		json_t *deployment = NULL;
		bf_json_writer_begin(&member);
		write_member(f, &member, f->plan.member);
		bf_json_write_value(&w, "deployment",
				bf_json_writer_end(&member, &deployment) == BELFRY_OK ? deployment
										      : NULL);
	} else {
		bf_json_write_null(&w, "deployment");
	}
	return bf_json_writer_end(&w, &reason) == BELFRY_OK ? reason : NULL;
}

static json_t *new_proposal(struct forecast *f)
{
	struct bf_json_writer w;
	json_t *proposal = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_int(&w, "before", f->plan.before);
	bf_json_write_int(&w, "after", f->plan.after);
	bf_json_write_value(&w, "changes", new_changes(f));
	bf_json_write_value(&w, "reason", new_reason(f));
	return bf_json_writer_end(&w, &proposal) == BELFRY_OK ? proposal : NULL;
}

static enum belfry_status write_answer(struct forecast *f, json_t **ret_answer,
		struct belfry_error *err)
{
	bool is_complete = f->load.is_complete && !f->page.has_more;
	struct bf_json_writer w;

	bf_json_writer_begin(&w);
	bf_json_write_time(&w, "from", f->load.from);
	bf_json_write_time(&w, "to", time_of(f, f->load.minute_count));
	bf_json_write_duration(&w, "bucket", f->query->bucket);
	bf_json_write_int(&w, "deployments", (int64_t)f->load.member_count);
	bf_json_write_int(&w, "left_out", (int64_t)f->left_out_count);
	bf_json_write_bool(&w, "complete", is_complete);
	bf_json_write_int(&w, "total", (int64_t)BF_MIN(f->load.total, (uint64_t)INT64_MAX));
	bf_json_write_value(&w, "counts", new_counts(f));
	bf_json_write_value(&w, "peaks", new_peaks(f));
	bf_json_write_value(&w, "proposal", new_proposal(f));
	return bf_json_writer_end(&w, ret_answer) == BELFRY_OK ? BELFRY_OK : no_memory(err);
}

static enum belfry_status check_query(const struct bf_forecast_query *query,
		struct belfry_error *err)
{
	if (query->hours < 1 || query->hours > BF_FORECAST_HOURS_MAX) {
		return bf_error_set(err, BELFRY_INVALID, "hours: %lld is not within 1 to %d",
				(long long)query->hours, BF_FORECAST_HOURS_MAX);
	}
	if (query->bucket < BELFRY_MINUTE || query->bucket > BELFRY_DAY ||
			query->bucket % BELFRY_MINUTE != 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"bucket: it must be whole minutes, from PT1M to PT24H");
	}
	if (query->from < 365 * BELFRY_DAY || query->from > INT64_C(253370764800) * BELFRY_SECOND) {
		return bf_error_set(err, BELFRY_INVALID, "from: it must lie in 1971 to 9998");
	}
	return BELFRY_OK;
}

enum belfry_status bf_forecast(struct bf_host *host, const struct bf_forecast_query *query,
		json_t **ret_answer, struct belfry_error *err)
{
	BF_CLEANUP(forecast_fini)
	struct forecast f = {
			.host = host,
			.query = query,
			.arenas = {BELFRY_ARENA_INIT, BELFRY_ARENA_INIT},
	};
	enum belfry_status status = check_query(query, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (bf_load_init(&f.load, query->from, (size_t)query->hours * 60, is_late, &f) !=
			BELFRY_OK) {
		return no_memory(err);
	}
	f.load.now = host->options.env->wall(host->options.env->data);
	set_deadline(&f, READ_TIME);
	status = read_all(&f, err);
	set_deadline(&f, COUNT_TIME); /* of its own: what was read must not be for nothing */
	if (status == BELFRY_OK) {
		status = bf_load_count(&f.load, err);
	}
	set_deadline(&f, PLAN_TIME);
	if (status == BELFRY_OK) {
		status = bf_load_plan(&f.load, &f.plan, err);
	}
	return status == BELFRY_OK ? write_answer(&f, ret_answer, err) : status;
}
