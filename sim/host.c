/* The host: what it asked for, what of it was acknowledged and when. It does what a host that reconciles
 * does: a request whose answer it did not get is asked again, with the same revision, until it is
 * acknowledged. */
#include "sim/sim_priv.h"

#include "model/definition.h"

#define REQUEST_TIMEOUT (10 * BELFRY_SECOND)

struct sim_deployment *sim_deployment_find(struct bf_sim *sim, struct belfry_str id)
{
	for (size_t i = 0; i < sim->deployment_count; i++) {
		if (bf_str_equal(bf_str(sim->deployments[i]->id), id)) {
			return sim->deployments[i];
		}
	}
	return NULL;
}

struct sim_revision *sim_revision_find(struct sim_deployment *deployment, int64_t number)
{
	for (size_t i = deployment->revision_count; i > 0; i--) {
		struct sim_revision *revision = deployment->revisions[i - 1];
		if (revision->number == number && !revision->is_remove) {
			return revision;
		}
	}
	return NULL;
}

struct sim_revision *sim_removal_find(struct sim_deployment *deployment, int64_t number)
{
	for (size_t i = deployment->revision_count; i > 0; i--) {
		struct sim_revision *revision = deployment->revisions[i - 1];
		if (revision->number == number && revision->is_remove) {
			return revision;
		}
	}
	return NULL;
}

struct sim_process *sim_any_process(struct bf_sim *sim)
{
	unsigned first = (unsigned)sim_random(sim, sim->config.replicas);

	for (unsigned i = 0; i < sim->config.replicas; i++) {
		struct sim_process *process = sim->processes[(first + i) % sim->config.replicas];
		if (process != NULL && process->stop == SIM_STOP_NO) {
			return process;
		}
	}
	return NULL;
}

/* ---- asking ------------------------------------------------------------------------------------ */

static void plan_retry(struct bf_sim *sim, struct sim_deployment *deployment);

static void send_latest(struct bf_sim *sim, struct sim_deployment *deployment)
{
	struct sim_process *process = sim_any_process(sim);
	struct sim_revision *revision = deployment->revisions[deployment->revision_count - 1];

	if (deployment->request != NULL || revision->is_answered) {
		return; /* what is under way comes back, and is followed by the latest */
	}
	if (process == NULL) {
		plan_retry(sim, deployment);
		return;
	}
	struct sim_request *request = sim_alloc(sizeof(*request));
	request->deployment = deployment;
	request->revision = revision;
	request->process = process;
	request->request.schedule = bf_str(deployment->id);
	request->request.revision = revision->number;
	request->request.is_remove = revision->is_remove;
	request->request.deadline = bf_boot_add(sim_boot(process), REQUEST_TIMEOUT);
	request->request.put = (struct belfry_schedule_put){
			.revision = revision->number,
			.flags = revision->flags,
			.definition = bf_buf_str(&revision->definition),
			.fair_key = BF_STR("key"),
			.payload = bf_str(revision->payload),
	};
	deployment->request = request;
	struct sim_message message = {.kind = SIM_MESSAGE_REQUEST, .request = &request->request};
	sim_post(process, SIM_PLANNER, &message);
}

static void retry(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_deployment *deployment = data;

	(void)number;
	deployment->is_retry_planned = false;
	if (!sim->is_closing) {
		send_latest(sim, deployment);
	}
}

static void plan_retry(struct bf_sim *sim, struct sim_deployment *deployment)
{
	if (!deployment->is_retry_planned) {
		deployment->is_retry_planned = true;
		sim_at(sim,
				sim->now +
						sim_between(sim, 100 * BELFRY_MILLISECOND,
								5 * BELFRY_SECOND),
				retry, deployment, 0);
	}
}

static void compile(struct bf_sim *sim, struct sim_revision *revision, belfry_time anchor)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_error err = {0};
	struct bf_definition definition = {.flags = revision->flags,
			.anchor = anchor,
			.rule = bf_str(revision->rule),
			.zone = bf_str(revision->zone),
			.policies = revision->policies};

	options.gap = revision->policies.dst_gap;
	options.fold = revision->policies.dst_fold;
	options.anchor = anchor;
	bf_definition_encode(&definition, &revision->definition);
	BF_ASSERT(bf_buf_status(&revision->definition) == BELFRY_OK);
	enum belfry_status status = belfry_rule_new(sim->config.zones, definition.rule,
			definition.zone, &options, &revision->compiled, &err);
	if (status != BELFRY_OK) {
		(void)fprintf(stderr, "rule \"%s\" in \"%s\": %s\n", revision->rule, revision->zone,
				err.message);
	}
	BF_ASSERT(status == BELFRY_OK);
}

/* A removal has the number of the put that it takes back (of every other one), or the next. */
static int64_t number_of(const struct sim_deployment *deployment, bool is_remove)
{
	if (deployment->revision_count == 0) {
		return 1;
	}
	const struct sim_revision *last = deployment->revisions[deployment->revision_count - 1];
	bool is_same = is_remove && !last->is_remove && last->number % 2 == 1;

	return is_same ? last->number : last->number + 1;
}

static struct sim_revision *new_revision(struct sim_deployment *deployment, bool is_remove)
{
	struct sim_revision *revision = sim_alloc(sizeof(*revision));

	revision->number = number_of(deployment, is_remove);
	revision->is_remove = is_remove;
	BF_ASSERT(BF_GROW(deployment->revisions, deployment->revision_capacity,
				  deployment->revision_count + 1) == BELFRY_OK);
	deployment->revisions[deployment->revision_count++] = revision;
	return revision;
}

static struct sim_deployment *find_or_add(struct bf_sim *sim, const char *id)
{
	struct sim_deployment *deployment = sim_deployment_find(sim, bf_str(id));

	if (deployment == NULL) {
		deployment = sim_alloc(sizeof(*deployment));
		(void)snprintf(deployment->id, sizeof(deployment->id), "%s", id);
		BF_ASSERT(BF_GROW(sim->deployments, sim->deployment_capacity,
					  sim->deployment_count + 1) == BELFRY_OK);
		sim->deployments[sim->deployment_count++] = deployment;
	}
	return deployment;
}

void bf_sim_put(struct bf_sim *sim, const struct bf_sim_deployment *wanted)
{
	struct sim_deployment *deployment = find_or_add(sim, wanted->id);
	struct sim_revision *revision = new_revision(deployment, false);

	revision->flags = (wanted->is_disabled ? 0 : BELFRY_SCHEDULE_F_ENABLED) |
			(wanted->has_local_session ? BELFRY_SCHEDULE_F_LOCAL_SESSION : 0);
	(void)snprintf(revision->rule, sizeof(revision->rule), "%s", wanted->rule);
	(void)snprintf(revision->zone, sizeof(revision->zone), "%s",
			wanted->zone != NULL ? wanted->zone : "UTC");
	if (wanted->payload != NULL) {
		(void)snprintf(revision->payload, sizeof(revision->payload), "%s", wanted->payload);
	} else {
		(void)snprintf(revision->payload, sizeof(revision->payload), "%s revision %lld",
				deployment->id, (long long)revision->number);
	}
	revision->policies = wanted->policies;
	compile(sim, revision, sim_wall(sim));
	deployment->has_definition = true;
	sim->counts.puts++;
	sim_trace(sim, "host: put %s revision %lld: %s in %s%s", deployment->id,
			(long long)revision->number, revision->rule, revision->zone,
			wanted->is_disabled ? ", disabled" : "");
	send_latest(sim, deployment);
}

void bf_sim_remove(struct bf_sim *sim, const char *id)
{
	struct sim_deployment *deployment = find_or_add(sim, id);
	struct sim_revision *revision = new_revision(deployment, true);

	deployment->has_definition = false;
	sim->counts.removes++;
	sim_trace(sim, "host: remove %s revision %lld", id, (long long)revision->number);
	send_latest(sim, deployment);
}

/* ---- answers ----------------------------------------------------------------------------------- */

static void acknowledge(struct bf_sim *sim, struct sim_deployment *deployment,
		struct sim_revision *revision)
{
	bool is_stopped = revision->is_remove || (revision->flags & BELFRY_SCHEDULE_F_ENABLED) == 0;

	revision->is_answered = true;
	if (is_stopped) {
		deployment->stopped_revision = BF_MAX(deployment->stopped_revision,
				revision->number);
	}
	if (!revision->is_effective && !revision->is_remove) {
		/* Also where a later one was stored first: it is never told that it was. */
		sim_fail(sim, "what is acknowledged is stored", "%s revision %lld", deployment->id,
				(long long)revision->number);
	}
}

void sim_host_answered(struct bf_sim *sim, struct bf_plan_request *done)
{
	struct sim_request *request = BF_CONTAINER(done, struct sim_request, request);
	struct sim_deployment *deployment = request->deployment;
	struct sim_revision *revision = request->revision;

	sim_trace(sim, "host: %s revision %lld answers %s", deployment->id,
			(long long)revision->number, belfry_status_name(done->status));
	if (done->status == BELFRY_OK) {
		acknowledge(sim, deployment, revision);
	}
	deployment->request = NULL;
	bf_free(request);
	if (!deployment->revisions[deployment->revision_count - 1]->is_answered) {
		plan_retry(sim, deployment);
	}
}

static void free_request(struct bf_sim *sim, void *data, int64_t number)
{
	struct sim_request *request = data;
	struct sim_process *process = request->process;

	(void)sim;
	(void)number;
	bf_free(request);
	sim_process_drop(&process);
}

/* The process took the answers along. Its machines may still point to the requests for as long as they
 * exist, so each holds the process and goes a good while later. */
void sim_host_process_gone(struct sim_process *process)
{
	struct bf_sim *sim = process->sim;

	for (size_t i = 0; i < sim->deployment_count; i++) {
		struct sim_deployment *deployment = sim->deployments[i];
		struct sim_request *request = deployment->request;
		if (request == NULL || request->process != process) {
			continue;
		}
		deployment->request = NULL;
		sim_process_hold(process);
		sim_at(sim, sim->now + BELFRY_HOUR, free_request, request, 0);
		plan_retry(sim, deployment);
	}
}

bool bf_sim_is_settled(const struct bf_sim *sim, const char *id)
{
	for (size_t i = 0; i < sim->deployment_count; i++) {
		const struct sim_deployment *deployment = sim->deployments[i];
		if (strcmp(deployment->id, id) == 0 && deployment->revision_count > 0) {
			return deployment->revisions[deployment->revision_count - 1]->is_answered;
		}
	}
	return true;
}

void bf_sim_settle(struct bf_sim *sim, const char *id)
{
	int64_t until = sim->now + 10 * BELFRY_MINUTE;

	while (!bf_sim_is_settled(sim, id) && sim->now < until && sim->invariant == NULL) {
		bf_sim_run(sim, BELFRY_MILLISECOND);
	}
}

struct belfry_id bf_sim_enqueue(struct bf_sim *sim, const char *deployment,
		const struct belfry_id *replayed)
{
	struct belfry_add add = {.schedule = bf_str(deployment),
			.id = bf_run_id_new(&sim->env),
			.trigger = BELFRY_TRIGGER_MANUAL};
	struct sim_process *process = sim_any_process(sim);
	struct belfry_error err;

	if (replayed != NULL) {
		struct belfry_run old;
		belfry_arena_reset(&sim->outer);
		BF_ASSERT(bf_sim_find_run(sim, *replayed, &sim->outer, &old));
		add.trigger = BELFRY_TRIGGER_REPLAY;
		add.replayed_from = *replayed;
		add.revision = old.revision;
	}
	enum belfry_status status = sim->host_store->ops->add_runs(sim->host_store, &add, 1, &err);
	sim_trace(sim, "host: %s of %s: %s", replayed != NULL ? "replay" : "Run now", deployment,
			belfry_status_name(status != BELFRY_OK ? status : add.result));
	if (process != NULL) {
		sim_post(process, SIM_DISPATCHER, &(struct sim_message){.kind = SIM_MESSAGE_KICK});
	}
	bool is_made = status == BELFRY_OK && add.result == BELFRY_OK;
	return is_made ? add.id : (struct belfry_id){{0}};
}

/* ---- ending Runs ------------------------------------------------------------------------------- */

void sim_post_cancelled(struct sim_process *process, const struct bf_cancelled *news)
{
	struct sim_message message = {.kind = SIM_MESSAGE_CANCELLED, .cancelled = *news};

	message.cancelled.runs = sim_alloc(news->run_count * sizeof(*news->runs));
	memcpy(message.cancelled.runs, news->runs, news->run_count * sizeof(*news->runs));
	sim_post(process, SIM_DISPATCHER, &message);
}

static enum belfry_status end_run(struct bf_sim *sim, struct belfry_record *record)
{
	struct sim_run *run = sim_run_find(sim, record->run);
	struct belfry_error err;
	enum belfry_status status = sim->host_store->ops->record(sim->host_store, record, 1, &err);

	BF_ASSERT(status == BELFRY_OK);
	if (record->result == BELFRY_OK && run != NULL) {
		run->is_ended_by_host = true;
	}
	sim_trace(sim, "host: Run %s is %s: %s%s", sim_short_id(record->run).text,
			record->kind == BELFRY_RECORD_CONCLUDED ? "concluded" : "cancelled",
			belfry_status_name(record->result), record->is_again ? " (again)" : "");
	return record->result;
}

enum belfry_status bf_sim_cancel(struct bf_sim *sim, struct belfry_id run)
{
	struct belfry_record record = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST,
			.run = run,
			.error = BELFRY_RUN_ERROR_CANCELLED};
	struct sim_process *process = sim_any_process(sim);
	enum belfry_status status = end_run(sim, &record);
	struct bf_cancelled news = {.runs = &run, .run_count = 1, .at = sim_wall(sim)};

	sim->counts.cancels += status == BELFRY_OK && !record.is_again;
	if (status == BELFRY_OK && process != NULL && sim_run_find(sim, run) != NULL &&
			sim_run_find(sim, run)->state == BELFRY_RUN_CANCELLED) {
		sim_post_cancelled(process, &news);
	}
	return status;
}

enum belfry_status bf_sim_conclude(struct bf_sim *sim, struct belfry_id run,
		enum belfry_run_status status)
{
	struct belfry_record record = {.kind = BELFRY_RECORD_CONCLUDED,
			.run = run,
			.status = status};
	enum belfry_status answer = end_run(sim, &record);

	sim->counts.conclusions += answer == BELFRY_OK && !record.is_again;
	return answer;
}

void sim_host_free(struct bf_sim *sim)
{
	for (size_t i = 0; i < sim->deployment_count; i++) {
		struct sim_deployment *deployment = sim->deployments[i];
		for (size_t k = 0; k < deployment->revision_count; k++) {
			bf_buf_fini(&deployment->revisions[k]->definition);
			belfry_rule_free(deployment->revisions[k]->compiled);
			bf_free(deployment->revisions[k]);
		}
		bf_free(deployment->revisions);
		bf_free(deployment->request);
		bf_free(deployment);
	}
	bf_free(sim->deployments);
}
