/* Merge patches, without recursion: the frames of a bounded stack stand for the open objects. */
#include "host/merge_patch.h"

#include "base/error.h"

struct frame {
	json_t *content;
	json_t *patch; /* not changed; jansson's iterators want it so */
	void *at;
	bool is_free; /* member names are the user's */
	bool is_target;
};

static bool is_name(const char *key, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(key, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static struct frame frame_below(const struct frame *above, size_t depth, const char *key,
		json_t *content, json_t *patch)
{
	static const char *const of_whole[] = {"rule", "input", "labels"};
	static const char *const of_target[] = {"headers", "body", "env"};
	struct frame frame = {.content = content, .patch = patch, .at = json_object_iter(patch)};

	frame.is_free = above->is_free ||
			(depth == 0 && is_name(key, of_whole, BF_COUNT(of_whole))) ||
			(above->is_target && is_name(key, of_target, BF_COUNT(of_target)));
	frame.is_target = depth == 0 && strcmp(key, "target") == 0;
	return frame;
}

/* The object that a patch object is laid over: the present one, or a new one in its place. */
static json_t *object_at(json_t *content, const char *key)
{
	json_t *present = json_object_get(content, key);

	if (json_is_object(present)) {
		return present;
	}
	if (json_object_set_new(content, key, json_object()) != 0) {
		return NULL;
	}
	return json_object_get(content, key);
}

/* A member that another kind of target has is not there either way: a patch that changes the kind may be sent
 * again. */
static bool is_of_other_kind(const struct frame *frame, const char *key)
{
	static const char *const names[] = {"url", "method", "headers", "body", "secret", "command",
			"cwd", "env", "permanent_exit", "output_limit"};

	return frame->is_target && is_name(key, names, BF_COUNT(names));
}

/* null takes a member away, which is its default. A name of ours that is not there keeps its null, so that
 * the reader refuses one that it does not know. */
static int put_value(const struct frame *frame, const char *key, json_t *value)
{
	bool is_there = json_object_get(frame->content, key) != NULL;

	if (json_is_null(value) && (frame->is_free || is_there || is_of_other_kind(frame, key))) {
		(void)json_object_del(frame->content, key); /* it may not be there */
		return 0;
	}
	return json_object_set(frame->content, key, value);
}

enum belfry_status bf_merge_patch(json_t *content, const json_t *patch, struct belfry_error *err)
{
	struct frame stack[BF_JSON_DEPTH + 1];
	size_t depth = 0;

	if (!json_is_object(patch)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the body must be an object that holds the members to change");
	}
	stack[0] = (struct frame){.content = content, .patch = (json_t *)(uintptr_t)patch};
	stack[0].at = json_object_iter(stack[0].patch);
	for (;;) {
		struct frame *top = &stack[depth];
		if (top->at == NULL) {
			if (depth == 0) {
				return BELFRY_OK;
			}
			depth--;
			continue;
		}
		const char *key = json_object_iter_key(top->at);
		json_t *value = json_object_iter_value(top->at);
		top->at = json_object_iter_next(top->patch, top->at);
		if (json_is_object(value) && depth < BF_JSON_DEPTH) {
			json_t *below = object_at(top->content, key);
			if (below == NULL) {
				return bf_error_set(err, BELFRY_NOMEM, "out of memory");
			}
			stack[depth + 1] = frame_below(top, depth, key, below, value);
			depth++;
		} else if (put_value(top, key, value) != 0) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
	}
}
