/* A list of refusals, made anew by each round of the reconciliation. There are few as a rule, so it is
 * searched from one end to the other. */
#include "host/refusals.h"

#include "base/alloc.h"
#include "base/grow.h"

struct bf_refusal {
	char id[BELFRY_ID_TEXT_BYTES];
	int64_t revision;
	char *message; /* owned; NULL: there was no memory */
};

static void free_list(struct bf_refusal *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bf_free(list[i].message);
	}
	bf_free(list);
}

void bf_refusals_init(struct bf_refusals *refusals)
{
	*refusals = (struct bf_refusals){0};
	(void)pthread_mutex_init(&refusals->mutex, NULL); /* default kind: cannot fail */
}

void bf_refusals_fini(struct bf_refusals *refusals)
{
	free_list(refusals->known, refusals->known_count);
	free_list(refusals->fresh, refusals->fresh_count);
	(void)pthread_mutex_destroy(&refusals->mutex);
}

/* Of the last round; under the mutex. */
static const struct bf_refusal *find(const struct bf_refusals *refusals, struct belfry_str id,
		int64_t revision)
{
	for (size_t i = 0; i < refusals->known_count; i++) {
		const struct bf_refusal *refusal = &refusals->known[i];
		if (bf_str_equal(id, bf_str(refusal->id)) &&
				(refusal->revision == 0 || refusal->revision == revision)) {
			return refusal;
		}
	}
	return NULL;
}

bool bf_refusals_note(struct bf_refusals *refusals, struct belfry_str id, int64_t revision,
		const char *message)
{
	(void)pthread_mutex_lock(&refusals->mutex);
	const struct bf_refusal *known = find(refusals, id, revision);
	bool is_new = known == NULL || known->message == NULL ||
			strcmp(known->message, message) != 0;
	(void)pthread_mutex_unlock(&refusals->mutex);
	if (id.len >= sizeof(((struct bf_refusal *)0)->id) ||
			BF_GROW(refusals->fresh, refusals->fresh_capacity,
					refusals->fresh_count + 1) != BELFRY_OK) {
		return is_new;
	}
	struct bf_refusal *refusal = &refusals->fresh[refusals->fresh_count++];
	*refusal = (struct bf_refusal){.revision = revision,
			.message = bf_str_dup(bf_str(message))};
	memcpy(refusal->id, id.ptr, id.len);
	return is_new;
}

void bf_refusals_end(struct bf_refusals *refusals, bool is_whole)
{
	struct bf_refusal *dropped = refusals->fresh;
	size_t dropped_count = refusals->fresh_count;

	(void)pthread_mutex_lock(&refusals->mutex);
	if (is_whole) {
		dropped = refusals->known;
		dropped_count = refusals->known_count;
		refusals->known = refusals->fresh;
		refusals->known_count = refusals->fresh_count;
	}
	(void)pthread_mutex_unlock(&refusals->mutex);
	refusals->fresh = NULL;
	refusals->fresh_count = 0;
	refusals->fresh_capacity = 0;
	free_list(dropped, dropped_count);
}

void bf_refusals_get(struct bf_refusals *refusals, struct belfry_str id, int64_t revision,
		struct bf_buf *reason)
{
	(void)pthread_mutex_lock(&refusals->mutex);
	const struct bf_refusal *refusal = find(refusals, id, revision);
	if (refusal != NULL) {
		bf_buf_append_text(reason,
				refusal->message != NULL ? refusal->message
							 : belfry_status_text(BELFRY_NOMEM));
	}
	(void)pthread_mutex_unlock(&refusals->mutex);
}
