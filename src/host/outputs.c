/* One thread that takes outputs from a list, oldest first, and writes each to the store. */
#include "host/outputs.h"

#include <pthread.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/str.h"
#include "host/backend.h"

struct output {
	struct bf_link link;
	struct belfry_id run;
	char *content_type;
	char *bytes;
	size_t len;
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

/* NULL: the end, nothing waits. */
static struct output *take_next(struct bf_outputs *outputs)
{
	struct output *output = NULL;

	(void)pthread_mutex_lock(&outputs->mutex);
	while (outputs->waiting.first == NULL && !outputs->is_stopping) {
		(void)pthread_cond_wait(&outputs->has_news, &outputs->mutex);
	}
	if (outputs->waiting.first != NULL) {
		output = BF_CONTAINER(outputs->waiting.first, struct output, link);
		bf_list_remove(&output->link);
	}
	(void)pthread_mutex_unlock(&outputs->mutex);
	return output;
}

static bool write_output(struct bf_outputs *outputs, const struct output *output)
{
	struct belfry_error err = {0};
	char run[BELFRY_ID_TEXT_BYTES];

	if (bf_backend_put_output(outputs->store, output->run, bf_str(output->content_type),
			    (struct belfry_str){output->bytes, output->len}, &err) != BELFRY_OK) {
		belfry_id_format(output->run, run);
		bf_log(outputs->env, BF_LOG_WARNING, "event=output_lost run=%s detail=\"%s\"", run,
				err.detail);
		return false;
	}
	return true;
}

static void *run_writer(void *data)
{
	struct bf_outputs *outputs = data;

	for (;;) {
		BF_CLEANUP(bf_cleanup_output) struct output *output = take_next(outputs);
		if (output == NULL) {
			return NULL;
		}
		output->done(output->data, write_output(outputs, output));
	}
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

enum belfry_status bf_outputs_put(struct bf_outputs *outputs, struct belfry_id run,
		struct belfry_str content_type, struct belfry_str bytes, bf_output_done_fn done,
		void *data)
{
	BF_CLEANUP(bf_cleanup_output) struct output *output = bf_alloc(sizeof(*output));

	if (output == NULL) {
		return BELFRY_NOMEM;
	}
	output->run = run;
	output->content_type = bf_str_dup(content_type);
	output->bytes = bf_str_dup(bytes);
	output->len = bytes.len;
	output->done = done;
	output->data = data;
	if (output->content_type == NULL || output->bytes == NULL) {
		return BELFRY_NOMEM;
	}
	(void)pthread_mutex_lock(&outputs->mutex);
	bf_list_append(&outputs->waiting, &output->link);
	output = NULL; /* the list has it */
	(void)pthread_cond_signal(&outputs->has_news);
	(void)pthread_mutex_unlock(&outputs->mutex);
	return BELFRY_OK;
}
