/* What planner and dispatcher tell each other: Runs that were born, tickets, floors. Nothing that is told
 * may be lost: where memory is short, the dispatcher is told later to ask the store itself. */
#include "base/alloc.h"
#include "engine/planner_priv.h"
#include "model/run.h"

void bf_born_free(struct bf_born *born)
{
	if (born != NULL) {
		bf_free(born->runs);
		bf_free(born);
	}
}

static struct bf_owned_run owned_run(const struct bf_planner *planner,
		const struct belfry_advance_item *item, const struct belfry_new_run *run,
		const struct bf_plan_note *note)
{
	bool is_local = (note->schedule_flags & BELFRY_SCHEDULE_F_LOCAL_SESSION) != 0;

	struct bf_owned_run owned = {
			.id = run->id,
			.fence = planner->advance.fence,
			.trigger = run->trigger,
			.run_flags = is_local ? BELFRY_RUN_F_LOCAL_SESSION : 0,
			.attempt = 1,
			.payload_bytes = note->payload_bytes,
			.due_at = run->due_at,
			.revision = note->settlement.revision,
			.stands_for = run->stands_for,
			.is_born = true,
			.ready_at = run->ready_at,
			.started_at = planner->advance.now,
			.is_first_start = true,
			.policy = note->policy,
	};
	bf_owned_set_schedule(&owned, item->schedule);
	return owned;
}

static void collect_item(struct bf_planner *planner, const struct belfry_advance_item *item,
		const struct bf_plan_note *note, struct bf_born *born)
{
	bool is_ours = planner->has_cover &&
			bf_id_compare(planner->advance.holder, planner->cover.incarnation) == 0;

	for (size_t i = 0; i < item->run_count; i++) {
		const struct belfry_new_run *run = &item->runs[i];
		if (!run->is_inserted) {
			continue;
		}
		if (run->state == BELFRY_RUN_DISPATCHING && !is_ours) {
			continue; /* born to an incarnation that is over: others take it over */
		}
		if (run->state == BELFRY_RUN_DISPATCHING) {
			born->runs[born->run_count++] = owned_run(planner, item, run, note);
			planner->places--;
			planner->bytes -= note->payload_bytes;
		} else {
			born->has_queued = true;
		}
	}
}

static void give_back_tickets(struct bf_planner *planner, struct bf_born *born)
{
	born->places_back += planner->places;
	born->bytes_back += planner->bytes;
	planner->places = 0;
	planner->bytes = 0;
}

/* A message for the dispatcher with room for `max_runs`; NULL: no memory. */
static struct bf_born *new_born(const struct bf_planner *planner, size_t max_runs)
{
	struct bf_born *born = bf_alloc(sizeof(*born));

	if (born == NULL) {
		return NULL;
	}
	born->floor = planner->floor;
	born->incarnation = planner->cover.incarnation;
	if (max_runs > 0) {
		born->runs = bf_alloc_array(max_runs, sizeof(*born->runs));
		if (born->runs == NULL) {
			bf_free(born);
			return NULL;
		}
	}
	return born;
}

void bf_plan_collect_born(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	struct bf_born *born = new_born(planner, planner->batch.run_count);

	if (born == NULL) {
		/* The Runs are ours all the same: the dispatcher finds them by asking the store. */
		planner->owes_news = true;
		return;
	}
	for (size_t i = 0; i < planner->advance.item_count; i++) {
		if (planner->items[i].result == BELFRY_OK) {
			collect_item(planner, &planner->items[i], &planner->notes[i], born);
		}
	}
	bool has_more = planner->is_cut || planner->rows.has_more;
	if (planner->places == 0 && has_more && planner->purpose == BF_PLAN_DUE) {
		planner->spent_until = bf_boot_add(now, BF_PLAN_TICKET_WAIT);
	}
	orders->born = born;
}

/* Runs may be ours that the dispatcher was not told of: it shall ask the store. */
void bf_plan_tell_news(struct bf_planner *planner, struct bf_planner_orders *orders)
{
	if (!planner->owes_news) {
		return;
	}
	/* With whatever is told: its floor must not pass what the dispatcher does not know. */
	struct bf_born *born = orders->born != NULL ? orders->born : new_born(planner, 0);
	if (born != NULL) {
		born->is_unknown = true;
		born->has_queued = true;
		give_back_tickets(planner, born);
		planner->owes_news = false;
	}
	orders->born = born;
}

void bf_planner_untold(struct bf_planner *planner, struct bf_born *born)
{
	if (planner->has_cover &&
			bf_id_compare(born->incarnation, planner->cover.incarnation) == 0) {
		planner->places += (uint32_t)born->run_count + born->places_back;
		planner->bytes += born->bytes_back;
		for (size_t i = 0; i < born->run_count; i++) {
			planner->bytes += born->runs[i].payload_bytes;
		}
		planner->owes_news = true;
	}
	bf_born_free(born);
}

void bf_plan_take_tickets(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_tickets *tickets)
{
	if (!planner->has_cover ||
			bf_id_compare(tickets->incarnation, planner->cover.incarnation) != 0) {
		return; /* meant for an incarnation that is over */
	}
	planner->places += tickets->places;
	planner->bytes += tickets->bytes;
	planner->is_backlog = tickets->is_backlog;
	if (planner->awaits_tickets) {
		planner->awaits_tickets = false;
		planner->spent_until = (struct bf_boot_time){0};
	}
	if (bf_id_compare(tickets->floor, planner->floor) > 0) {
		planner->floor = tickets->floor;
	}
	if (planner->state == BF_PLANNER_COMMITTING) {
		return; /* what is under way was planned with the old floor: its answer echoes this one */
	}
	struct bf_born *born = new_born(planner, 0);
	if (born != NULL && planner->is_backlog) {
		give_back_tickets(planner, born);
	}
	orders->born = born;
}
