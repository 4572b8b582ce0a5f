/* The deployments that use a calendar: found by a bit of their record's flags, counted, and judged before a
 * change; and the expansion of a rule with what the store has.
 *
 * Locks      a rule is expanded and its record saved under bf_calendars_hold, and a calendar is stored while
 *            nobody holds it: so a record with the old revision is there when the users are gone through.
 *            Taken within the lock of a deployment, never around it.
 *
 * Not here   what a change does to them (calendar_plan.c). */
#include <stdio.h>

#include "base/error.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"

#define PAGE_ROWS 500

/* Bits of a name: above those of record.c, and below the sign. */
#define NAME_BITS_FIRST 8
#define NAME_BITS       40

void bf_calendars_begin_change(struct bf_host *host, pthread_mutex_t **ret_lock)
{
	(void)pthread_mutex_lock(&host->calendars_change_lock); /* not held: cannot fail */
	*ret_lock = &host->calendars_change_lock;
}

void bf_calendars_hold(struct bf_host *host, struct bf_host **ret_held)
{
	(void)pthread_rwlock_rdlock(&host->calendars_lock); /* held by no caller: cannot fail */
	*ret_held = host;
}

void bf_calendars_release(struct bf_host **held)
{
	if (*held != NULL) {
		(void)pthread_rwlock_unlock(&(*held)->calendars_lock); /* ours: cannot fail */
		*held = NULL;
	}
}

/* --- flags --- */

/* Stored, so it never changes: FNV-1a. */
static uint64_t name_bit(struct belfry_str name)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < name.len; i++) {
		hash = (hash ^ (unsigned char)name.ptr[i]) * 0x100000001b3u;
	}
	return (uint64_t)1 << (NAME_BITS_FIRST + (hash ^ hash >> 32) % NAME_BITS);
}

uint64_t bf_calendar_flags(const json_t *calendars)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < json_array_size(calendars); i++) {
		flags |= name_bit(
				bf_json_str(json_object_get(json_array_get(calendars, i), "name")));
	}
	return flags;
}

void bf_calendar_watch(struct bf_host *host, struct belfry_str name)
{
	atomic_fetch_and(&host->calendars_named, ~name_bit(name));
}

bool bf_calendar_was_named(struct bf_host *host, struct belfry_str name)
{
	return (atomic_load(&host->calendars_named) & name_bit(name)) != 0;
}

/* --- expanding --- */

struct finder {
	struct bf_host *host;
	struct bf_calendar_overlay overlay;
};

/* NULL: the overlay has it not. */
static const struct bf_calendar *find_laid(const struct finder *finder, struct belfry_str name)
{
	for (size_t i = 0; i < finder->overlay.count; i++) {
		const struct bf_calendar *laid = &finder->overlay.items[i];
		if (laid->content != NULL && bf_str_equal(name, bf_str(laid->name))) {
			return laid;
		}
	}
	return NULL;
}

static enum belfry_status find(void *data, struct belfry_str name, json_t **ret_except,
		int64_t *ret_revision, struct belfry_error *err)
{
	const struct finder *finder = data;
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar stored = {0};
	const struct bf_calendar *found = find_laid(finder, name);

	atomic_fetch_or(&finder->host->calendars_named, name_bit(name));
	if (found == NULL) {
		enum belfry_status status = bf_calendar_load(finder->host, name, &stored, err);
		if (status != BELFRY_OK) {
			return status;
		}
		found = &stored;
	}
	*ret_except = json_incref((json_t *)(uintptr_t)found->except);
	*ret_revision = found->revision;
	return BELFRY_OK;
}

static enum belfry_status expand(struct finder *finder, struct bf_deployment *d,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_expansion_fini) struct bf_expansion expansion = {0};
	enum belfry_status status = bf_calendar_expand(d->rule_json, find, finder, &expansion, err);

	if (status == BELFRY_OK) {
		struct bf_expansion old = d->expansion;
		d->expansion = expansion;
		expansion = old;
	}
	return status;
}

enum belfry_status bf_calendars_expand(struct bf_host *host,
		const struct bf_calendar_overlay *overlay, struct bf_deployment *d,
		struct belfry_error *err)
{
	struct finder finder = {.host = host};

	if (overlay != NULL) {
		finder.overlay = *overlay;
	}
	return expand(&finder, d, err);
}

/* --- going through the users --- */

void bf_calendar_walk_init(struct bf_calendar_walk *walk, struct bf_host *host,
		struct belfry_str name)
{
	*walk = (struct bf_calendar_walk){
			.host = host,
			.name = name,
			.arenas = {BELFRY_ARENA_INIT, BELFRY_ARENA_INIT},
			.page = {.size = sizeof(walk->page),
					.kind = BF_STR(BF_RECORD_KIND),
					.flags_mask = name_bit(name) | BF_RECORD_F_GOING,
					.flags_value = name_bit(name),
					.limit = PAGE_ROWS,
					.is_brief = true,
					.has_more = true},
	};
}

void bf_calendar_walk_fini(struct bf_calendar_walk *walk)
{
	belfry_arena_fini(&walk->arenas[0]);
	belfry_arena_fini(&walk->arenas[1]);
}

int64_t bf_calendar_used_revision(const struct bf_deployment *d, struct belfry_str name)
{
	const json_t *calendars = d->expansion.calendars;

	for (size_t i = 0; i < json_array_size(calendars); i++) {
		const json_t *used = json_array_get(calendars, i);
		if (bf_str_equal(bf_json_str(json_object_get(used, "name")), name)) {
			return json_integer_value(json_object_get(used, "revision"));
		}
	}
	return 0;
}

enum belfry_status bf_calendar_walk_next(struct bf_calendar_walk *walk, struct belfry_str *ret_id,
		struct belfry_error *err)
{
	while (walk->at == walk->page.count) {
		struct belfry_arena *arena = &walk->arenas[walk->turn++ % 2];
		if (!walk->page.has_more) {
			return BELFRY_NEVER;
		}
		if (walk->page.count > 0) {
			walk->page.after_id = walk->page.documents[walk->page.count - 1].id;
		}
		walk->at = 0;
		belfry_arena_reset(arena);
		enum belfry_status status = bf_backend_list_documents(walk->host->options.store,
				&walk->page, arena, err);
		if (status != BELFRY_OK) {
			walk->page.count = 0;
			return status;
		}
		walk->page.has_more = walk->page.has_more && walk->page.count > 0;
	}
	walk->is_cut = walk->max > 0 && walk->looked_at >= walk->max;
	if (walk->is_cut) {
		return BELFRY_NEVER;
	}
	walk->looked_at++;
	*ret_id = walk->page.documents[walk->at++].id;
	return BELFRY_OK;
}

/* The next user, decoded. One that cannot be read, or has gone meanwhile, is none. */
static enum belfry_status next_user(struct bf_calendar_walk *walk,
		struct bf_deployment *ret_deployment, struct belfry_error *err)
{
	struct belfry_str id;
	enum belfry_status status = bf_calendar_walk_next(walk, &id, err);

	while (status == BELFRY_OK) {
		bf_deployment_fini(ret_deployment);
		status = bf_record_load(walk->host, id, ret_deployment, err);
		if (status == BELFRY_OK &&
				bf_calendar_used_revision(ret_deployment, walk->name) > 0) {
			return BELFRY_OK;
		}
		if (status == BELFRY_OK || status == BELFRY_NOT_FOUND || status == BELFRY_CORRUPT) {
			status = bf_calendar_walk_next(walk, &id, err);
		}
	}
	return status;
}

/* BELFRY_NEVER: they are counted, as far as the walk goes. */
static enum belfry_status count_users(struct bf_calendar_walk *walk,
		struct bf_calendar_users *users, struct belfry_error *err)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	enum belfry_status status = BELFRY_OK;

	while (status == BELFRY_OK) {
		status = next_user(walk, &d, err);
		if (status == BELFRY_OK && users->count++ < BF_CALENDAR_NAMES &&
				json_array_append_new(users->names, bf_json_new_str(d.name)) != 0) {
			status = BELFRY_NOMEM;
		}
	}
	return status;
}

enum belfry_status bf_calendar_find_users(struct bf_host *host, struct belfry_str name,
		struct bf_calendar_users *users, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_walk_fini) struct bf_calendar_walk walk;

	bf_calendar_walk_init(&walk, host, name);
	walk.max = users->max;
	users->count = 0;
	users->names = json_array();
	enum belfry_status status = count_users(&walk, users, err);
	while (status == BELFRY_NEVER && walk.is_cut && users->is_sure && users->count == 0) {
		walk.max += PAGE_ROWS;
		status = count_users(&walk, users, err);
	}
	users->is_at_least = walk.is_cut;
	users->looked_at = walk.looked_at;
	if (status == BELFRY_NOMEM || users->names == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return status == BELFRY_NEVER ? BELFRY_OK : status;
}

/* --- before a change --- */

/* One whose rule cannot be read as it is was broken by something else, and stops nobody. */
static enum belfry_status check_user(struct finder *finder, struct bf_deployment *d,
		struct belfry_error *err)
{
	struct belfry_zones *zones = finder->host->options.zones;
	struct belfry_error why = {0};

	if (bf_deployment_parse_rule(d, zones, NULL, NULL) != BELFRY_OK) {
		return BELFRY_OK;
	}
	enum belfry_status status = expand(finder, d, &why);
	if (status == BELFRY_OK) {
		status = bf_deployment_parse_rule(d, zones, NULL, &why);
	}
	if (status == BELFRY_INVALID_SCHEDULE) {
		return bf_error_at(err, BELFRY_CONFLICT, "/except",
				"except: the deployment \"%.*s\" uses this calendar, and would not do "
				"with it: %s; change that one first, or leave something out",
				BF_STR_ARGS(bf_str_slice(d->name, 0, 60)), why.message);
	}
	if (status != BELFRY_OK && err != NULL) {
		*err = why;
	}
	return status;
}

enum belfry_status bf_calendar_check_users(struct bf_host *host, const struct bf_calendar *changed,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_walk_fini) struct bf_calendar_walk walk;
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	struct finder finder = {.host = host, .overlay = {changed, 1}};
	enum belfry_status status = BELFRY_OK;

	bf_calendar_walk_init(&walk, host, bf_str(changed->name));
	walk.max = BF_CALENDAR_LOOKED_AT;
	while (status == BELFRY_OK) {
		status = next_user(&walk, &d, err);
		if (status == BELFRY_OK) {
			status = check_user(&finder, &d, err);
		}
	}
	return status == BELFRY_NEVER ? BELFRY_OK : status;
}
