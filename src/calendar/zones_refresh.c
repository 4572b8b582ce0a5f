/* The tz database changed on disk: what was read from it is read again.
 *
 * A look has three steps. What is loaded is listed, under the lock. The disk is compared with the list,
 * and what differs is read, under no lock that a rule in the making waits for. The outcome is put in place
 * in one go, under the lock, and then the generation is raised.
 *
 * Invariants  a look that fails changes nothing; whoever sees the new generation finds the new zones; a
 *             file that was touched and says the same is no change; a mark is never newer than what was
 *             read, so that a file changed under our hands is seen by the next look.
 * Not here    when to look (the caller's), files (zones_disk.c). */
#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "calendar/zones_priv.h"

/* One name of the table, and what became of it. */
struct look {
	const char *name;     /* borrowed: the table keeps its names */
	struct bf_zone *zone; /* one reference: as listed, then as found; NULL: not there */
	struct bf_file_mark mark;
	bool is_changed;
};

struct looks {
	struct look *items;
	size_t count;
	struct bf_file_mark version_marks[2];
	struct bf_zones_version
			*version;      /* what the database says now: one of the set's, or news */
	struct bf_zones_version *news; /* one that the set has not had yet; owned until it is put */
	bool has_version;
};

static void free_looks(struct looks *looks)
{
	for (size_t i = 0; i < looks->count; i++) {
		bf_zone_free(looks->items[i].zone);
	}
	bf_free(looks->items);
	bf_free(looks->news);
}

static enum belfry_status list(struct belfry_zones *zones, struct looks *looks)
{
	enum belfry_status status = BELFRY_OK;

	(void)pthread_mutex_lock(&zones->lock); /* a plain mutex: it cannot fail */
	if (zones->count > 0) {
		looks->items = bf_alloc_array(zones->count, sizeof(looks->items[0]));
		status = looks->items != NULL ? BELFRY_OK : BELFRY_NOMEM;
	}
	for (size_t i = 0; status == BELFRY_OK && i < zones->count; i++) {
		const struct bf_zones_entry *entry = &zones->entries[i];
		looks->items[i] = (struct look){
				.name = entry->name,
				.zone = entry->zone != NULL ? bf_zone_share(entry->zone) : NULL,
				.mark = entry->mark,
		};
		looks->count++;
	}
	(void)pthread_mutex_unlock(&zones->lock);
	return status;
}

/* The first look at each file says whether to look closer. */
static bool is_touched(const struct belfry_zones *zones, const struct looks *looks)
{
	bool is_same = bf_file_mark_equal(&zones->version_marks[0], &looks->version_marks[0]) &&
			bf_file_mark_equal(&zones->version_marks[1], &looks->version_marks[1]);

	for (size_t i = 0; is_same && i < looks->count; i++) {
		struct bf_file_mark mark = bf_zones_disk_mark(zones->directory,
				bf_str(looks->items[i].name));
		is_same = bf_file_mark_equal(&mark, &looks->items[i].mark);
	}
	return !is_same;
}

/* What is on disk under one name now. With another version every file is read: a file written over twice
 * within one tick of the file system's clock may look untouched. */
static enum belfry_status look_closer(const struct belfry_zones *zones, bool is_other_version,
		struct look *look, struct belfry_error *err)
{
	struct bf_zone *zone = NULL;
	struct belfry_error reason = {.status = BELFRY_OK};
	struct bf_file_mark mark = bf_zones_disk_mark(zones->directory, bf_str(look->name));

	if (!is_other_version && bf_file_mark_equal(&mark, &look->mark)) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_zones_disk_load(zones->directory, bf_str(look->name), &zone,
			&mark, &reason);
	if (status != BELFRY_OK && status != BELFRY_NOT_FOUND) {
		return status == BELFRY_NOMEM
				? status
				: bf_error_set(err, BELFRY_CONFIGURATION,
						  "the time zone database is not whole: \"%s\" holds no "
						  "usable data (%s); what was read before stays in use",
						  look->name, reason.detail);
	}
	look->mark = mark;
	look->is_changed = zone == NULL || look->zone == NULL ? zone != look->zone
							      : !bf_zone_equal(zone, look->zone);
	if (look->is_changed) {
		bf_zone_free(look->zone);
		look->zone = zone;
	} else {
		bf_zone_free(zone); /* the same: its rules go on sharing one */
	}
	return BELFRY_OK;
}

/* The version as it is now: one that the set has had before, or a new one. */
static enum belfry_status take_version(const struct belfry_zones *zones, const char *text,
		struct looks *looks)
{
	struct bf_zones_version *version = zones->versions;

	while (version != NULL && !bf_str_equal(bf_str(version->text), bf_str(text))) {
		version = version->older;
	}
	if (version == NULL) {
		version = bf_alloc(sizeof(*version));
		if (version == NULL) {
			return BELFRY_NOMEM;
		}
		memcpy(version->text, text, BF_ZONES_VERSION_BYTES);
		looks->news = version;
	}
	looks->version = version;
	return BELFRY_OK;
}

static enum belfry_status look_at_version(const struct belfry_zones *zones, struct looks *looks,
		struct belfry_error *err)
{
	char text[BF_ZONES_VERSION_BYTES] = "";

	looks->has_version = bf_zones_disk_version(zones->directory, text);
	if (zones->has_version && !looks->has_version) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the time zone database is not whole: it says no version any more; what "
				"was read before stays in use");
	}
	return take_version(zones, text, looks);
}

static enum belfry_status look(struct belfry_zones *zones, struct looks *looks,
		bool *ret_is_touched, struct belfry_error *err)
{
	if (!bf_zones_disk_is_database(zones->directory)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the time zone database is not there any more; what was read before stays "
				"in use");
	}
	enum belfry_status status = list(zones, looks);
	if (status != BELFRY_OK) {
		return status;
	}
	bf_zones_mark_version(zones, looks->version_marks);
	*ret_is_touched = is_touched(zones, looks);
	if (!*ret_is_touched) {
		return BELFRY_OK;
	}
	status = look_at_version(zones, looks, err);
	bool is_other_version = looks->version != atomic_load(&zones->version);
	for (size_t i = 0; status == BELFRY_OK && i < looks->count; i++) {
		status = look_closer(zones, is_other_version, &looks->items[i], err);
	}
	return status;
}

static bool put_version(struct belfry_zones *zones, struct looks *looks)
{
	bool is_changed = atomic_load(&zones->version) != looks->version;

	if (looks->news != NULL) {
		looks->news->older = zones->versions;
		zones->versions = looks->news;
		looks->news = NULL; /* the set's from here on */
	}
	memcpy(zones->version_marks, looks->version_marks, sizeof(zones->version_marks));
	zones->has_version = looks->has_version;
	atomic_store_explicit(&zones->version, looks->version, memory_order_release);
	return is_changed;
}

/* What was listed is still there; names that came since were read from the new database or will be. */
static void put(struct belfry_zones *zones, struct looks *looks, bool *ret_is_changed)
{
	bool is_there;

	(void)pthread_mutex_lock(&zones->lock);
	bool is_changed = put_version(zones, looks);
	for (size_t i = 0; i < looks->count; i++) {
		struct look *item = &looks->items[i];
		size_t at = bf_zones_locate(zones, bf_str(item->name), &is_there);
		struct bf_zone *before = zones->entries[at].zone;
		zones->entries[at].mark = item->mark;
		zones->entries[at].zone = item->zone;
		item->zone = before; /* freed with the list, outside of the lock */
		is_changed = is_changed || item->is_changed;
	}
	if (is_changed) {
		(void)atomic_fetch_add_explicit(&zones->generation, 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&zones->lock);
	*ret_is_changed = is_changed;
}

enum belfry_status belfry_zones_refresh(struct belfry_zones *zones, bool *ret_is_changed,
		struct belfry_error *err)
{
	BF_CLEANUP(free_looks) struct looks looks = {.items = NULL};
	bool is_touched = false;
	bool is_changed = false;

	if (zones == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "zones: none given");
	}
	(void)pthread_mutex_lock(&zones->looking);
	enum belfry_status status = look(zones, &looks, &is_touched, err);
	if (status == BELFRY_OK && is_touched) {
		put(zones, &looks, &is_changed);
	}
	(void)pthread_mutex_unlock(&zones->looking);
	if (status == BELFRY_NOMEM) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	if (status == BELFRY_OK && ret_is_changed != NULL) {
		*ret_is_changed = is_changed;
	}
	return status;
}
