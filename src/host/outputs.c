/* One thread that takes jobs from a list, oldest first, and does each. */
#include "host/outputs.h"

#include <pthread.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/str.h"
#include "host/backend.h"

struct output {
	struct bf_output_job job;
	struct bf_outputs *outputs;
	struct belfry_output output; /* its text is owned by the next two */
	char *content_type;
	char *bytes;
	bf_output_done_fn done;
	void *data;
};

struct bf_outputs {
	struct bf_store *store;
	const struct bf_env *env;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t has_news;
	struct bf_list waiting; /* under the mutex, like the next */
	bool is_stopping;
};

static void output_free(struct output *output)
{
	if (output != NULL) {
		bf_free(output->content_type);
		bf_free(output->bytes);
		bf_free(output);
	}
}

BF_CLEANUP_POINTER(output, struct output, output_free)

static bool write_output(struct bf_outputs *outputs, const struct belfry_output *output)
{
	struct belfry_error err = {0};
	char run[BELFRY_ID_TEXT_BYTES];

	if (bf_backend_write_output(outputs->store, output, &err) != BELFRY_OK) {
		belfry_id_format(output->run, run);
		bf_log(outputs->env, BF_LOG_WARNING, "event=output_lost run=%s detail=\"%s\"", run,
				err.detail[0] != '\0' ? err.detail : err.message);
		return false;
	}
	return true;
}

static void run_output(struct bf_output_job *job)
{
	BF_CLEANUP(bf_cleanup_output)
	struct output *output = BF_CONTAINER(job, struct output, job);

	output->done(output->data, write_output(output->outputs, &output->output));
}

/* NULL: the end, nothing waits. */
static struct bf_output_job *take_next(struct bf_outputs *outputs)
{
	struct bf_output_job *job = NULL;

	(void)pthread_mutex_lock(&outputs->mutex);
	while (outputs->waiting.first == NULL && !outputs->is_stopping) {
		(void)pthread_cond_wait(&outputs->has_news, &outputs->mutex);
	}
	if (outputs->waiting.first != NULL) {
		job = BF_CONTAINER(outputs->waiting.first, struct bf_output_job, link);
		bf_list_remove(&job->link);
	}
	(void)pthread_mutex_unlock(&outputs->mutex);
	return job;
}

static void *run_writer(void *data)
{
	struct bf_outputs *outputs = data;
	struct bf_output_job *job;

	while ((job = take_next(outputs)) != NULL) {
		job->run(job);
	}
	return NULL;
}

/* The thread takes no signal: those are the main thread's. */
static int start_thread(struct bf_outputs *outputs)
{
	sigset_t all;
	sigset_t before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&outputs->thread, NULL, run_writer, outputs);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

enum belfry_status bf_outputs_new(struct bf_store *store, const struct bf_env *env,
		struct bf_outputs **ret_outputs, struct belfry_error *err)
{
	struct bf_outputs *outputs = bf_alloc(sizeof(*outputs));

	if (outputs == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	outputs->store = store;
	outputs->env = env;
	(void)pthread_mutex_init(&outputs->mutex, NULL);   /* default kind: cannot fail */
	(void)pthread_cond_init(&outputs->has_news, NULL); /* the same */
	int failed = start_thread(outputs);
	if (failed != 0) {
		bf_free(outputs);
		return bf_error_system(err, BELFRY_INTERNAL, failed, "no thread for outputs");
	}
	*ret_outputs = outputs;
	return BELFRY_OK;
}

void bf_outputs_free(struct bf_outputs *outputs)
{
	if (outputs == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&outputs->mutex);
	outputs->is_stopping = true;
	(void)pthread_cond_signal(&outputs->has_news);
	(void)pthread_mutex_unlock(&outputs->mutex);
	(void)pthread_join(outputs->thread, NULL);
	(void)pthread_cond_destroy(&outputs->has_news);
	(void)pthread_mutex_destroy(&outputs->mutex);
	bf_free(outputs);
}

void bf_outputs_submit(struct bf_outputs *outputs, struct bf_output_job *job)
{
	(void)pthread_mutex_lock(&outputs->mutex);
	bf_list_append(&outputs->waiting, &job->link);
	(void)pthread_cond_signal(&outputs->has_news);
	(void)pthread_mutex_unlock(&outputs->mutex);
}

enum belfry_status bf_outputs_put(struct bf_outputs *outputs, const struct belfry_output *source,
		bf_output_done_fn done, void *data)
{
	BF_CLEANUP(bf_cleanup_output) struct output *output = bf_alloc(sizeof(*output));

	if (output == NULL) {
		return BELFRY_NOMEM;
	}
	output->job.run = run_output;
	output->outputs = outputs;
	output->content_type = bf_str_dup(source->content_type);
	output->bytes = bf_str_dup(source->bytes);
	output->output = *source;
	output->output.content_type.ptr = output->content_type;
	output->output.bytes.ptr = output->bytes;
	output->done = done;
	output->data = data;
	if (output->content_type == NULL || output->bytes == NULL) {
		return BELFRY_NOMEM;
	}
	struct bf_output_job *job = &output->job;
	output = NULL; /* the list has it */
	bf_outputs_submit(outputs, job);
	return BELFRY_OK;
}
