/* Reading a tz database: which folder, which version, which file.
 *
 * Invariant  of a file only as much is read as a zone file may have; nothing but a regular file is read,
 *            and no open waits (a pipe, a device).
 * Not here   what has been read before and is kept (zones.c), the format (tzif.c), TZDIR (the caller's to
 *            read and pass). */
#include "calendar/zones_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "calendar/tzif.h"

#define PATH_BYTES 4096

static const char *const usual_directories[] = {
		"/usr/share/zoneinfo",
		"/usr/lib/zoneinfo",
		"/usr/share/lib/zoneinfo",
		"/etc/zoneinfo",
};

/* A folder is a database if it holds one of these. */
static const char *const signs[] = {"tzdata.zi", "+VERSION", "Etc/UTC", "UTC", "zone1970.tab"};

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

static int64_t ns_of(struct timespec time)
{
	return (int64_t)((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
}

static struct bf_file_mark mark_of(const struct stat *info)
{
	return (struct bf_file_mark){
			.is_there = true,
			.device = (uint64_t)info->st_dev,
			.inode = (uint64_t)info->st_ino,
			.size = (int64_t)info->st_size,
			.written_ns = ns_of(info->st_mtim),
			.changed_ns = ns_of(info->st_ctim),
	};
}

bool bf_file_mark_equal(const struct bf_file_mark *a, const struct bf_file_mark *b)
{
	return a->is_there == b->is_there && a->device == b->device && a->inode == b->inode &&
			a->size == b->size && a->written_ns == b->written_ns &&
			a->changed_ns == b->changed_ns;
}

struct bf_file_mark bf_zones_disk_mark(const char *directory, struct belfry_str name)
{
	char path[PATH_BYTES];
	struct stat info;

	if (join(directory, name, path) != BELFRY_OK || stat(path, &info) != 0) {
		return (struct bf_file_mark){.is_there = false};
	}
	return mark_of(&info);
}

/* The first `size` bytes of an open file. false: the system would not read it. */
static bool read_bytes(int fd, unsigned char *buffer, size_t size, size_t *ret_len)
{
	size_t len = 0;
	ssize_t got = 1;

	while (got > 0 && len < size) {
		do {
			got = read(fd, buffer + len, size - len);
		} while (got < 0 && errno == EINTR);
		len += got > 0 ? (size_t)got : 0;
	}
	*ret_len = len;
	return got >= 0;
}

/* Reads what fits of a regular file. BELFRY_OK; BELFRY_NOT_FOUND: there is no such file; BELFRY_CORRUPT:
 * there is, and it is not to be read. */
static enum belfry_status read_some(const char *directory, struct belfry_str name,
		unsigned char *buffer, size_t size, size_t *ret_len, struct bf_file_mark *ret_mark)
{
	char path[PATH_BYTES];
	struct stat info;

	if (join(directory, name, path) != BELFRY_OK) {
		return BELFRY_NOT_FOUND;
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		return errno == ENOENT || errno == ENOTDIR ? BELFRY_NOT_FOUND : BELFRY_CORRUPT;
	}
	enum belfry_status status = BELFRY_CORRUPT;
	if (fstat(fd, &info) == 0) {
		*ret_mark = mark_of(&info);
		if (!S_ISREG(info.st_mode)) {
			status = BELFRY_NOT_FOUND;
		} else if (read_bytes(fd, buffer, size, ret_len)) {
			status = BELFRY_OK;
		}
	}
	(void)close(fd); /* nothing was written */
	return status;
}

static bool is_version_byte(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			(c != '\0' && strchr("._+-~", c) != NULL);
}

/* What looks like a version: the first word, not too long, of bytes that mean nothing in a log, a label of
 * a metric, or a terminal. */
static bool take_version(struct belfry_str text, char *ret_version)
{
	size_t len = 0;

	while (len < text.len && is_version_byte(text.ptr[len])) {
		len++;
	}
	bool is_word = len == text.len || text.ptr[len] == ' ' || text.ptr[len] == '\n' ||
			text.ptr[len] == '\r';
	if (len == 0 || len >= BF_ZONES_VERSION_BYTES || !is_word) {
		return false;
	}
	memcpy(ret_version, text.ptr, len);
	ret_version[len] = '\0';
	return true;
}

bool bf_zones_disk_version(const char *directory, char *ret_version)
{
	unsigned char bytes[128];
	size_t len;
	struct bf_file_mark unused;
	struct belfry_str prefix = BF_STR("# version ");

	memcpy(ret_version, "unknown", sizeof("unknown"));
	if (read_some(directory, BF_STR("tzdata.zi"), bytes, sizeof(bytes), &len, &unused) ==
			BELFRY_OK) {
		struct belfry_str text = {(const char *)bytes, len};
		if (bf_str_starts_with(text, prefix)) {
			return take_version(bf_str_slice(text, prefix.len, len), ret_version);
		}
	}
	return read_some(directory, BF_STR("+VERSION"), bytes, sizeof(bytes), &len, &unused) ==
			BELFRY_OK &&
			take_version((struct belfry_str){(const char *)bytes, len}, ret_version);
}

bool bf_zones_disk_is_database(const char *directory)
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

enum belfry_status bf_zones_disk_find(const char *directory, const char **ret_directory,
		struct belfry_error *err)
{
	if (directory != NULL) {
		if (!bf_zones_disk_is_database(directory)) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"the time zone folder named (tz_directory, of a command TZDIR) "
					"holds no time zone database: name another or leave it unset");
		}
		*ret_directory = directory;
		return BELFRY_OK;
	}
	for (size_t i = 0; i < BF_COUNT(usual_directories); i++) {
		if (bf_zones_disk_is_database(usual_directories[i])) {
			*ret_directory = usual_directories[i];
			return BELFRY_OK;
		}
	}
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"no time zone database found: install the package tzdata, or name its "
			"folder (tz_directory, of a command TZDIR)");
}

enum belfry_status bf_zones_disk_load(const char *directory, struct belfry_str name,
		struct bf_zone **ret_zone, struct bf_file_mark *ret_mark, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) unsigned char *bytes = bf_alloc(BF_TZIF_BYTES_MAX + 1);
	size_t len = 0;

	if (bytes == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	*ret_mark = (struct bf_file_mark){.is_there = false};
	enum belfry_status status = read_some(directory, name, bytes, BF_TZIF_BYTES_MAX + 1, &len,
			ret_mark);
	if (status == BELFRY_OK) {
		return bf_zone_new(name, bytes, len, ret_zone, err);
	}
	return bf_error_system(err, status, 0, "zone data: the file is not there or not readable");
}
