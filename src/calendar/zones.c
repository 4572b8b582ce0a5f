/* The zones read so far from one tz database, and its version.
 *
 * Invariants  no file is opened for a name that bf_zones_check_name refuses; a zone is immutable, so what
 *             a refresh replaces goes on for whoever holds it.
 * Threads     one lock around the table of loaded zones. A file is read outside of it.
 * Not here    files (zones_disk.c), what a newer database changes (zones_refresh.c). */
#include "calendar/zones.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "calendar/zones_priv.h"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
}

void bf_zones_mark_version(const struct belfry_zones *zones, struct bf_file_mark *ret_marks)
{
	ret_marks[0] = bf_zones_disk_mark(zones->directory, BF_STR("tzdata.zi"));
	ret_marks[1] = bf_zones_disk_mark(zones->directory, BF_STR("+VERSION"));
}

/* Everything but the locks. */
static enum belfry_status fill(struct belfry_zones *zones, const char *directory)
{
	struct bf_zones_version *version = bf_alloc(sizeof(*version));

	zones->versions = version;
	atomic_init(&zones->version, version);
	atomic_init(&zones->generation, 1);
	zones->directory = bf_str_dup(bf_str(directory));
	if (zones->directory == NULL || version == NULL) {
		return BELFRY_NOMEM;
	}
	bf_zones_mark_version(zones, zones->version_marks);
	zones->has_version = bf_zones_disk_version(directory, version->text);
	return BELFRY_OK;
}

static void empty(struct belfry_zones *zones)
{
	struct bf_zones_version *version = zones->versions;

	for (size_t i = 0; i < zones->count; i++) {
		bf_zone_free(zones->entries[i].zone);
		bf_free(zones->entries[i].name);
	}
	bf_free(zones->entries);
	while (version != NULL) {
		struct bf_zones_version *older = version->older;
		bf_free(version);
		version = older;
	}
	bf_free(zones->directory);
	bf_free(zones);
}

static bool init_locks(struct belfry_zones *zones)
{
	if (pthread_mutex_init(&zones->looking, NULL) != 0) {
		return false;
	}
	if (pthread_mutex_init(&zones->lock, NULL) != 0) {
		(void)pthread_mutex_destroy(&zones->looking); /* nobody holds it */
		return false;
	}
	return true;
}

enum belfry_status belfry_zones_new(const char *directory, struct belfry_zones **ret_zones,
		struct belfry_error *err)
{
	const char *found = NULL;

	if (ret_zones == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "zones: no place for the answer");
	}
	enum belfry_status status = bf_zones_disk_find(directory, &found, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_zones *zones = bf_alloc(sizeof(*zones));
	if (zones == NULL) {
		return no_memory(err);
	}
	if (fill(zones, found) != BELFRY_OK || !init_locks(zones)) {
		empty(zones);
		return no_memory(err);
	}
	*ret_zones = zones;
	return BELFRY_OK;
}

void belfry_zones_free(struct belfry_zones *zones)
{
	if (zones == NULL) {
		return;
	}
	(void)pthread_mutex_destroy(&zones->lock); /* nobody holds them: we are the last user */
	(void)pthread_mutex_destroy(&zones->looking);
	empty(zones);
}

const char *belfry_zones_version(const struct belfry_zones *zones)
{
	return atomic_load_explicit(&zones->version, memory_order_acquire)->text;
}

uint64_t belfry_zones_generation(const struct belfry_zones *zones)
{
	return atomic_load_explicit(&zones->generation, memory_order_acquire);
}

static bool is_name_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			c == '_' || c == '+' || c == '-' || c == '.';
}

/* Why a name may not be looked up; NULL: it may. */
static const char *name_fault(struct belfry_str name)
{
	if (name.len == 0) {
		return "it is empty";
	}
	if (name.len > BELFRY_ZONE_BYTES) {
		return "it is too long";
	}
	for (size_t i = 0; i < name.len; i++) {
		bool is_part_start = i == 0 || name.ptr[i - 1] == '/';
		if (name.ptr[i] == '/' ? is_part_start || i + 1 == name.len
				       : !is_name_byte(name.ptr[i]) ||
								(is_part_start &&
										name.ptr[i] == '.')) {
			return "a zone name is letters, digits, \"_\", \"+\" and \"-\" in parts with \"/\" between";
		}
	}
	if (bf_str_starts_with(name, BF_STR("posix/")) ||
			bf_str_starts_with(name, BF_STR("right/"))) {
		return "leave out its first part";
	}
	if (bf_str_equal(name, BF_STR("localtime")) || bf_str_equal(name, BF_STR("posixrules"))) {
		return "it means another zone on each machine";
	}
	return NULL;
}

enum belfry_status bf_zones_check_name(struct belfry_str name, struct belfry_error *err)
{
	const char *fault = name_fault(name);

	if (fault == NULL) {
		return BELFRY_OK;
	}
	return bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/timezone",
			"not a time zone name: %s; an example is \"Europe/Berlin\"", fault);
}

size_t bf_zones_locate(const struct belfry_zones *zones, struct belfry_str name, bool *ret_is_there)
{
	size_t low = 0;
	size_t high = zones->count;

	*ret_is_there = false;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = bf_str_compare(bf_str(zones->entries[middle].name), name);
		if (order == 0) {
			*ret_is_there = true;
			return middle;
		}
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

/* A zone that is not in the table, from disk; what fails is said in a person's words. */
static enum belfry_status load(const struct belfry_zones *zones, struct belfry_str name,
		struct bf_zone **ret_zone, struct bf_file_mark *ret_mark, struct belfry_error *err)
{
	struct belfry_error reason = {.status = BELFRY_OK};
	enum belfry_status status = bf_zones_disk_load(zones->directory, name, ret_zone, ret_mark,
			&reason);

	if (status == BELFRY_OK) {
		return BELFRY_OK;
	}
	if (status == BELFRY_NOMEM) {
		return no_memory(err);
	}
	if (status == BELFRY_NOT_FOUND) {
		return bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/timezone",
				"there is no time zone \"%.*s\"; an example of a name is \"Europe/Berlin\"",
				BF_STR_ARGS(name));
	}
	(void)bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/timezone",
			"there is no usable data for the time zone \"%.*s\" on this machine",
			BF_STR_ARGS(name)); /* the status is our own below */
	if (err != NULL) {
		memcpy(err->detail, reason.detail, sizeof(err->detail));
	}
	return BELFRY_INVALID_SCHEDULE;
}

static enum belfry_status put_entry(struct belfry_zones *zones, size_t at,
		const struct bf_zones_entry *entry)
{
	if (zones->count == zones->capacity) {
		size_t capacity = zones->capacity * 2 + 8;
		struct bf_zones_entry *entries = bf_realloc_array(zones->entries, capacity,
				sizeof(*entries));
		if (entries == NULL) {
			return BELFRY_NOMEM;
		}
		zones->entries = entries;
		zones->capacity = capacity;
	}
	memmove(zones->entries + at + 1, zones->entries + at,
			(zones->count - at) * sizeof(zones->entries[0]));
	zones->entries[at] = *entry;
	zones->count++;
	return BELFRY_OK;
}

/* Puts a zone into the table, unless another thread was faster: then that one counts, and takes its
 * place. A name without a zone stays so until a refresh says that it came back. Under the lock. */
static enum belfry_status keep(struct belfry_zones *zones, const struct bf_file_mark *mark,
		struct bf_zone **zone)
{
	bool is_there;
	size_t at = bf_zones_locate(zones, bf_str((*zone)->name), &is_there);

	if (is_there) {
		struct bf_zone *kept = zones->entries[at].zone;
		if (kept != NULL) {
			bf_zone_free(*zone);
			*zone = bf_zone_share(kept);
		}
		return BELFRY_OK;
	}
	struct bf_zones_entry entry = {
			.name = bf_str_dup(bf_str((*zone)->name)),
			.zone = *zone,
			.mark = *mark,
	};
	if (entry.name == NULL || put_entry(zones, at, &entry) != BELFRY_OK) {
		bf_free(entry.name);
		return BELFRY_NOMEM;
	}
	(void)bf_zone_share(*zone); /* the table's */
	return BELFRY_OK;
}

static struct bf_zone *find_loaded(struct belfry_zones *zones, struct belfry_str name)
{
	struct bf_zone *zone = NULL;
	bool is_there;

	(void)pthread_mutex_lock(&zones->lock); /* a plain mutex: it cannot fail */
	size_t at = bf_zones_locate(zones, name, &is_there);
	if (is_there && zones->entries[at].zone != NULL) {
		zone = bf_zone_share(zones->entries[at].zone);
	}
	(void)pthread_mutex_unlock(&zones->lock);
	return zone;
}

BF_CLEANUP_POINTER(zone, struct bf_zone, bf_zone_free)

enum belfry_status bf_zones_find(struct belfry_zones *zones, struct belfry_str name,
		struct bf_zone **ret_zone, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_zone) struct bf_zone *zone = NULL;
	struct bf_file_mark mark;
	enum belfry_status status = bf_zones_check_name(name, err);

	if (status != BELFRY_OK) {
		return status;
	}
	zone = find_loaded(zones, name);
	if (zone == NULL) {
		status = load(zones, name, &zone, &mark, err);
		if (status != BELFRY_OK) {
			return status;
		}
		(void)pthread_mutex_lock(&zones->lock);
		status = keep(zones, &mark, &zone);
		(void)pthread_mutex_unlock(&zones->lock);
	}
	if (status != BELFRY_OK) {
		return no_memory(err);
	}
	*ret_zone = BF_TAKE(zone);
	return BELFRY_OK;
}
