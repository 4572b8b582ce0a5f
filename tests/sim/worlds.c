/* Running worlds. */
#include "worlds.h"

const char *world_run(struct bf_sim_config config, belfry_duration duration, bool is_quiet,
		struct bf_sim_counts *counts, uint64_t *ret_digest)
{
	struct bf_sim *sim;

	bf_sim_new(&config, &sim);
	bf_sim_run_world(sim, duration);
	const char *invariant = bf_sim_invariant(sim);
	if (invariant != NULL && !is_quiet) {
		(void)fprintf(stderr, "%s", bf_sim_failure(sim));
	}
	if (counts != NULL) {
		const struct bf_sim_counts *own = bf_sim_counts(sim);
		counts->virtual_us += own->virtual_us;
		counts->runs_scheduled += own->runs_scheduled;
		counts->gaps += own->gaps;
		counts->takeovers += own->takeovers;
		counts->cancels += own->cancels;
		counts->conclusions += own->conclusions;
		counts->crashes += own->crashes;
		counts->crashes_in_commit += own->crashes_in_commit;
		counts->freezes += own->freezes;
		counts->outages += own->outages;
		counts->lost_acks += own->lost_acks;
		counts->late_acks += own->late_acks;
		counts->clock_steps += own->clock_steps;
		counts->interleaved += own->interleaved;
	}
	if (ret_digest != NULL) {
		*ret_digest = bf_sim_digest(sim);
	}
	bf_sim_free(sim);
	return invariant;
}
