/* The host's list as a provider reads it: whatever the host answers is checked before the provider sees it,
 * and what the provider says of a refusal before the host does. Order is the provider's to check, for it
 * must change nothing where the ids do not rise. */
#include "provider/provider_priv.h"

/* A status outside the list says nothing that could be acted on. */
static enum belfry_status listed(enum belfry_status status, struct belfry_error *err)
{
	if ((unsigned)status >= BELFRY_STATUS_COUNT) {
		return bf_error_system(err, BELFRY_INTERNAL, 0,
				"the host's list answered status %u", (unsigned)status);
	}
	return status;
}

static enum belfry_status checked_next(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
		struct belfry_error *err)
{
	struct bf_checked_list *list = data;
	struct belfry_str id = {0};
	int64_t revision = 0;
	enum belfry_status status = listed(
			list->source->next(list->source->data, &id, &revision, err), err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_check_schedule_id(id, err);
	if (status == BELFRY_OK && revision < 1) {
		status = bf_error_at(err, BELFRY_INVALID, "/revision",
				"revision: a number from 1 is needed");
	}
	if (status != BELFRY_OK) {
		bf_error_prefix(err, "the list of schedules: ");
		return status;
	}
	*ret_id = id;
	*ret_revision = revision;
	return BELFRY_OK;
}

static enum belfry_status checked_load(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	struct bf_checked_list *list = data;
	struct belfry_schedule schedule = {0};
	enum belfry_status status = listed(
			list->source->load(list->source->data, id, &schedule, err), err);

	if (status == BELFRY_OK) {
		status = bf_check_schedule(&schedule, err);
	}
	if (status == BELFRY_OK && !bf_str_equal(schedule.id, id)) {
		status = bf_error_at(err, BELFRY_INVALID, "/id",
				"id: the list answered with another schedule than it was asked for");
	}
	if (status == BELFRY_OK) {
		*ret_schedule = schedule;
	}
	return status;
}

static void checked_refused(void *data, struct belfry_str id, int64_t revision,
		const struct belfry_error *why)
{
	struct bf_checked_list *list = data;
	struct belfry_error told = {.status = BELFRY_INTERNAL};

	if (why != NULL) {
		told = *why;
	}
	told.status = bf_provider_settle(told.status, &told);
	list->source->refused(list->source->data, id, revision, &told);
}

void bf_checked_list_init(struct bf_checked_list *list, struct belfry_schedule_iterator *source)
{
	*list = (struct bf_checked_list){
			.source = source,
			.checked = {.data = list,
					.next = checked_next,
					.load = checked_load,
					.refused = source->refused != NULL ? checked_refused
									   : NULL},
	};
}
