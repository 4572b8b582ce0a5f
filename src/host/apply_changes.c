/* What a changed deployment changes: members that differ, and due times that come and go.
 *
 * The members are walked without recursion: a bounded stack stands for the open objects, and the
 * pointer is one text that grows and shrinks with it. Long values are cut: whoever reads the list
 * wants to see that they differ, and has both in full elsewhere. */
#include "base/timefmt.h"
#include "host/apply_priv.h"
#include "host/host_priv.h"

#define VALUE_BYTES 1000
#define DUE_COUNT   5
#define DUE_STEPS   500 /* so far ahead a difference is looked for */

/* --- members --- */

struct level {
	json_t *before; /* not changed; jansson's iterators want it so */
	json_t *after;
	void *at;
	bool is_after; /* the members of `before` are done: now those that it has not */
	size_t pointer_len;
};

struct walk {
	struct level levels[BF_JSON_DEPTH + 1];
	size_t depth;
	struct bf_buf pointer;
	json_t *changes;
	bool is_failed;
};

static void append_key(struct bf_buf *pointer, const char *key)
{
	bf_buf_append_byte(pointer, '/');
	for (; *key != '\0'; key++) {
		if (*key == '~' || *key == '/') {
			bf_buf_append_text(pointer, *key == '~' ? "~0" : "~1");
		} else {
			bf_buf_append_byte(pointer, *key);
		}
	}
}

/* As it is, or as text that is cut. */
static json_t *new_short(const json_t *value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	size_t len = VALUE_BYTES;

	if (value == NULL) {
		return json_null();
	}
	if (json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) <= VALUE_BYTES) {
		return json_incref((json_t *)(uintptr_t)value);
	}
	if (json_is_string(value)) {
		bf_buf_append_str(&text, bf_json_str(value));
	} else if (bf_json_dump(value, &text) != BELFRY_OK) {
		return NULL;
	}
	if (bf_buf_status(&text) != BELFRY_OK) {
		return NULL;
	}
	len = BF_MIN(len, text.len);
	while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
		len--; /* not within a character */
	}
	text.len = len;
	bf_buf_append_text(&text, "\xe2\x80\xa6");
	return bf_buf_status(&text) == BELFRY_OK ? bf_json_new_str(bf_buf_str(&text)) : NULL;
}

static void note(struct walk *walk, const json_t *before, const json_t *after)
{
	struct bf_json_writer w;
	json_t *change = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_str(&w, "pointer", bf_buf_str(&walk->pointer));
	bf_json_write_value(&w, "old", new_short(before));
	bf_json_write_value(&w, "new", new_short(after));
	if (bf_buf_status(&walk->pointer) != BELFRY_OK) {
		w.is_failed = true;
	}
	if (bf_json_writer_end(&w, &change) != BELFRY_OK ||
			json_array_append_new(walk->changes, change) != 0) {
		walk->is_failed = true;
	}
}

static void open_level(struct walk *walk, size_t depth, const json_t *before, const json_t *after)
{
	struct level *level = &walk->levels[depth];

	*level = (struct level){
			.before = (json_t *)(uintptr_t)before,
			.after = (json_t *)(uintptr_t)after,
			.pointer_len = walk->pointer.len,
	};
	level->at = json_object_iter(level->before);
	walk->depth = depth;
}

/* One member of the deepest open object, which may open another. */
static void look_at(struct walk *walk, const char *key)
{
	const struct level *top = &walk->levels[walk->depth];
	const json_t *before = json_object_get(top->before, key);
	const json_t *after = json_object_get(top->after, key);

	if (json_equal(before, after) || (top->is_after && before != NULL)) {
		return;
	}
	append_key(&walk->pointer, key);
	if (json_is_object(before) && json_is_object(after) && walk->depth < BF_JSON_DEPTH) {
		open_level(walk, walk->depth + 1, before, after);
	} else {
		note(walk, before, after);
		walk->pointer.len = top->pointer_len;
	}
}

json_t *bf_apply_list_changes(const json_t *before, const json_t *after)
{
	struct walk walk = {.changes = json_array()};
	bool is_done = before == NULL || walk.changes == NULL;

	open_level(&walk, 0, before, after);
	while (!is_done && !walk.is_failed) {
		struct level *top = &walk.levels[walk.depth];
		if (top->at != NULL) {
			const char *key = json_object_iter_key(top->at);
			top->at = json_object_iter_next(top->is_after ? top->after : top->before,
					top->at);
			look_at(&walk, key);
		} else if (!top->is_after) {
			top->is_after = true;
			top->at = json_object_iter(top->after);
		} else if (walk.depth > 0) {
			walk.depth--;
			walk.pointer.len = walk.levels[walk.depth].pointer_len;
		} else {
			is_done = true;
		}
	}
	bf_buf_fini(&walk.pointer);
	if (walk.is_failed) {
		json_decref(walk.changes);
		return NULL;
	}
	return walk.changes;
}

/* --- due times --- */

/* NULL: it never fires, or cannot be read (any more). */
static struct belfry_rule *new_rule(struct bf_host *host, const struct bf_deployment *d)
{
	struct belfry_rule *rule = NULL;

	if (d == NULL || !d->is_enabled ||
			bf_deployment_parse_rule(d, host->options.zones, &rule, NULL) !=
					BELFRY_OK) {
		return NULL;
	}
	return rule;
}

static belfry_time next_of(const struct belfry_rule *rule, belfry_time after)
{
	belfry_time due;

	return rule != NULL && belfry_rule_next(rule, after, &due) == BELFRY_OK ? due
										: BELFRY_TIME_NEVER;
}

static bool append_due(json_t *list, belfry_time due)
{
	char text[BF_TIME_TEXT_BYTES];

	if (json_array_size(list) >= DUE_COUNT) {
		return true;
	}
	bf_time_format(due, 0, text);
	return json_array_append_new(list, json_string(text)) == 0;
}

/* Both go forward side by side. */
static bool compare_due(const struct belfry_rule *old, const struct belfry_rule *changed,
		belfry_time now, json_t *appears, json_t *vanishes)
{
	belfry_time before = next_of(old, now);
	belfry_time after = next_of(changed, now);
	bool is_ok = true;

	for (int i = 0; i < DUE_STEPS && is_ok && BF_MIN(before, after) != BELFRY_TIME_NEVER; i++) {
		belfry_time due = BF_MIN(before, after);
		if (before != after) {
			is_ok = append_due(due == after ? appears : vanishes, due);
		}
		before = due == before ? next_of(old, due) : before;
		after = due == after ? next_of(changed, due) : after;
	}
	return is_ok;
}

enum belfry_status bf_apply_list_due(struct bf_host *host, const struct bf_deployment *old,
		const struct bf_deployment *changed, json_t **ret_appears, json_t **ret_vanishes)
{
	BF_CLEANUP(bf_cleanup_json) json_t *appears = json_array();
	BF_CLEANUP(bf_cleanup_json) json_t *vanishes = json_array();
	struct belfry_rule *before = new_rule(host, old);
	struct belfry_rule *after = new_rule(host, changed);
	belfry_time now = host->options.env->wall(host->options.env->data);
	bool is_ok = appears != NULL && vanishes != NULL &&
			compare_due(before, after, now, appears, vanishes);

	belfry_rule_free(before);
	belfry_rule_free(after);
	if (!is_ok) {
		return BELFRY_NOMEM;
	}
	*ret_appears = json_incref(appears);
	*ret_vanishes = json_incref(vanishes);
	return BELFRY_OK;
}
