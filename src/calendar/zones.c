/* The tz database on disk: which folder, which version, which file; and the zones read from it so far.
 *
 * Invariants  no file is opened for a name that bf_zones_check_name refuses; a zone once loaded stays as
 *             it is for the life of the set, whatever happens on disk (a newer database is a new set).
 * Threads     one lock around the table of loaded zones; the zones themselves are immutable. A file is
 *             read outside of it.
 * Not here    TZDIR (the caller's to read and pass), the format (tzif.c). */
#include "calendar/zones.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "calendar/tzif.h"

#define VERSION_BYTES 32
#define PATH_BYTES    4096

struct belfry_zones {
	pthread_mutex_t lock;
	struct bf_zone **loaded; /* by name */
	size_t count;
	size_t capacity;
	char *directory;
	char version[VERSION_BYTES];
};

static const char *const usual_directories[] = {
		"/usr/share/zoneinfo",
		"/usr/lib/zoneinfo",
		"/usr/share/lib/zoneinfo",
		"/etc/zoneinfo",
};

/* A folder is a database if it holds one of these. */
static const char *const signs[] = {"tzdata.zi", "+VERSION", "Etc/UTC", "UTC", "zone1970.tab"};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
}

static enum belfry_status join(const char *directory, struct belfry_str name, char *ret_path)
{
	size_t len = strlen(directory);

	if (len + 1 + name.len + 1 > PATH_BYTES) {
		return BELFRY_INVALID;
	}
	memcpy(ret_path, directory, len);
	ret_path[len] = '/';
	memcpy(ret_path + len + 1, name.ptr, name.len);
	ret_path[len + 1 + name.len] = '\0';
	return BELFRY_OK;
}

/* Reads what fits of a regular file. BELFRY_OK, or BELFRY_NOT_FOUND for any reason that there is. */
static enum belfry_status read_some(const char *directory, struct belfry_str name,
		unsigned char *buffer, size_t size, size_t *ret_len)
{
	char path[PATH_BYTES];
	struct stat info;
	size_t len = 0;

	if (join(directory, name, path) != BELFRY_OK) {
		return BELFRY_NOT_FOUND;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return BELFRY_NOT_FOUND;
	}
	ssize_t got = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? 1 : -1;
	while (got > 0 && len < size) {
		do {
			got = read(fd, buffer + len, size - len);
		} while (got < 0 && errno == EINTR);
		len += got > 0 ? (size_t)got : 0;
	}
	(void)close(fd); /* nothing was written */
	if (got < 0) {
		return BELFRY_NOT_FOUND;
	}
	*ret_len = len;
	return BELFRY_OK;
}

/* Keeps what looks like a version: the first word, printable, not too long. */
static void take_version(struct belfry_zones *zones, struct belfry_str text)
{
	size_t len = 0;

	while (len < text.len && text.ptr[len] > ' ' && text.ptr[len] <= '~') {
		len++;
	}
	if (len > 0 && len < sizeof(zones->version)) {
		memcpy(zones->version, text.ptr, len);
		zones->version[len] = '\0';
	}
}

static void find_version(struct belfry_zones *zones)
{
	unsigned char bytes[128];
	size_t len;
	struct belfry_str prefix = BF_STR("# version ");

	memcpy(zones->version, "unknown", sizeof("unknown"));
	if (read_some(zones->directory, BF_STR("tzdata.zi"), bytes, sizeof(bytes), &len) ==
			BELFRY_OK) {
		struct belfry_str text = {(const char *)bytes, len};
		if (bf_str_starts_with(text, prefix)) {
			take_version(zones, bf_str_slice(text, prefix.len, len));
			return;
		}
	}
	if (read_some(zones->directory, BF_STR("+VERSION"), bytes, sizeof(bytes), &len) ==
			BELFRY_OK) {
		take_version(zones, (struct belfry_str){(const char *)bytes, len});
	}
}

static bool is_database(const char *directory)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < BF_COUNT(signs); i++) {
		if (join(directory, bf_str(signs[i]), path) == BELFRY_OK &&
				access(path, R_OK) == 0) {
			return true;
		}
	}
	return false;
}

static enum belfry_status find_directory(const char *directory, const char **ret_directory,
		struct belfry_error *err)
{
	if (directory != NULL) {
		if (!is_database(directory)) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"the time zone folder named (TZDIR) holds no time zone database: "
					"name another or leave it unset");
		}
		*ret_directory = directory;
		return BELFRY_OK;
	}
	for (size_t i = 0; i < BF_COUNT(usual_directories); i++) {
		if (is_database(usual_directories[i])) {
			*ret_directory = usual_directories[i];
			return BELFRY_OK;
		}
	}
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"no time zone database found: install the package tzdata or set TZDIR");
}

enum belfry_status belfry_zones_new(const char *directory, struct belfry_zones **ret_zones,
		struct belfry_error *err)
{
	const char *found = NULL;

	if (ret_zones == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "zones: no place for the answer");
	}
	enum belfry_status status = find_directory(directory, &found, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_zones *zones = bf_alloc(sizeof(*zones));
	if (zones == NULL) {
		return no_memory(err);
	}
	zones->directory = bf_strndup(found, strlen(found));
	if (zones->directory == NULL || pthread_mutex_init(&zones->lock, NULL) != 0) {
		bf_free(zones->directory);
		bf_free(zones);
		return no_memory(err);
	}
	find_version(zones);
	*ret_zones = zones;
	return BELFRY_OK;
}

void belfry_zones_free(struct belfry_zones *zones)
{
	if (zones == NULL) {
		return;
	}
	for (size_t i = 0; i < zones->count; i++) {
		bf_zone_free(zones->loaded[i]);
	}
	bf_free(zones->loaded);
	bf_free(zones->directory);
	(void)pthread_mutex_destroy(&zones->lock); /* nobody holds it: we are the last user */
	bf_free(zones);
}

const char *belfry_zones_version(const struct belfry_zones *zones)
{
	return zones->version;
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

/* Where name is, or belongs, in the sorted table. */
static size_t locate(const struct belfry_zones *zones, struct belfry_str name, bool *ret_is_there)
{
	size_t low = 0;
	size_t high = zones->count;

	*ret_is_there = false;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = bf_str_compare(bf_str(zones->loaded[middle]->name), name);
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

static enum belfry_status load(struct belfry_zones *zones, struct belfry_str name,
		struct bf_zone **ret_zone, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) unsigned char *bytes = bf_alloc(BF_TZIF_BYTES_MAX + 1);
	struct belfry_error reason = {.status = BELFRY_OK};
	size_t len;

	if (bytes == NULL) {
		return no_memory(err);
	}
	if (read_some(zones->directory, name, bytes, BF_TZIF_BYTES_MAX + 1, &len) != BELFRY_OK) {
		return bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/timezone",
				"there is no time zone \"%.*s\"; an example of a name is \"Europe/Berlin\"",
				BF_STR_ARGS(name));
	}
	enum belfry_status status = bf_zone_new(name, bytes, len, ret_zone, &reason);
	if (status == BELFRY_NOMEM) {
		return no_memory(err);
	}
	if (status != BELFRY_OK) {
		(void)bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/timezone",
				"there is no usable data for the time zone \"%.*s\" on this machine",
				BF_STR_ARGS(name)); /* the status is our own below */
		if (err != NULL) {
			memcpy(err->detail, reason.detail, sizeof(err->detail));
		}
		return BELFRY_INVALID_SCHEDULE;
	}
	return BELFRY_OK;
}

/* Puts a zone into the table, unless another thread was faster: then that one counts. Under the lock.
 * The table takes a reference of its own. NULL: no memory. */
static struct bf_zone *keep(struct belfry_zones *zones, struct bf_zone *zone)
{
	bool is_there;
	size_t at = locate(zones, bf_str(zone->name), &is_there);

	if (is_there) {
		return zones->loaded[at];
	}
	if (zones->count == zones->capacity) {
		size_t capacity = zones->capacity * 2 + 8;
		struct bf_zone **loaded = bf_realloc_array(zones->loaded, capacity,
				sizeof(struct bf_zone *));
		if (loaded == NULL) {
			return NULL;
		}
		zones->loaded = loaded;
		zones->capacity = capacity;
	}
	memmove(zones->loaded + at + 1, zones->loaded + at,
			(zones->count - at) * sizeof(struct bf_zone *));
	zones->loaded[at] = bf_zone_share(zone);
	zones->count++;
	return zone;
}

enum belfry_status bf_zones_find(struct belfry_zones *zones, struct belfry_str name,
		struct bf_zone **ret_zone, struct belfry_error *err)
{
	struct bf_zone *zone = NULL;
	bool is_there;

	enum belfry_status status = bf_zones_check_name(name, err);
	if (status != BELFRY_OK) {
		return status;
	}
	(void)pthread_mutex_lock(&zones->lock); /* a plain mutex: it cannot fail */
	size_t at = locate(zones, name, &is_there);
	if (is_there) {
		zone = bf_zone_share(zones->loaded[at]);
	}
	(void)pthread_mutex_unlock(&zones->lock);
	if (zone != NULL) {
		*ret_zone = zone;
		return BELFRY_OK;
	}
	status = load(zones, name, &zone, err);
	if (status != BELFRY_OK) {
		return status;
	}
	(void)pthread_mutex_lock(&zones->lock);
	struct bf_zone *kept = keep(zones, zone);
	if (kept != NULL) {
		(void)bf_zone_share(kept);
	}
	(void)pthread_mutex_unlock(&zones->lock);
	bf_zone_free(zone);
	if (kept == NULL) {
		return no_memory(err);
	}
	*ret_zone = kept;
	return BELFRY_OK;
}
