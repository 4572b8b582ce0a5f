/* See call_copy.h. */
#include "runtime/call_copy.h"

#include "base/alloc.h"
#include "model/run.h"

static struct belfry_str put(char **end, struct belfry_str text)
{
	struct belfry_str copy = {*end, text.len};

	if (text.len > 0) {
		memcpy(*end, text.ptr, text.len);
	}
	*end += text.len;
	return copy;
}

enum belfry_status bf_call_copy_init(struct bf_call_copy *copy,
		const struct belfry_invocation *invocation, struct belfry_str session)
{
	char *end = bf_alloc(invocation->schedule.len + invocation->payload.len + session.len + 1);

	if (end == NULL) {
		return BELFRY_NOMEM;
	}
	copy->text = end;
	copy->invocation = *invocation;
	copy->invocation.schedule = put(&end, invocation->schedule);
	copy->invocation.payload = put(&end, invocation->payload);
	copy->session = put(&end, session);
	return BELFRY_OK;
}

void bf_call_copy_fini(struct bf_call_copy *copy)
{
	bf_free(copy->text);
	copy->text = NULL;
}

bool bf_call_copy_is(const struct bf_call_copy *copy, struct belfry_id run, belfry_fence fence)
{
	return copy->invocation.fence == fence && bf_id_compare(copy->invocation.run, run) == 0;
}
