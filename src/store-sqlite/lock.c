/* The files of a store and the lock on them.
 *
 * The lock is an open-file-description lock on a file of its own, which a store never removes (only an open
 * that is refused takes away the one that it made itself): it falls when the process ends, however it ends, so
 * holding it proves that every earlier owner is dead.
 * A second one is on the database itself, because one file may be seen under two names (hard links, which
 * are refused, and mounts of a single file, which cannot be told), each with a lock file of its own. It
 * is on one byte far behind all that the client locks or writes, and on a descriptor of its own, which is
 * closed after the last connection: closing any descriptor of the file drops the client's locks.
 * Network file systems are refused by their type: neither the lock nor shared memory holds there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLK */
#endif
#include "store-sqlite/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#define OWNER_BYTES 128

static const struct {
	uint32_t magic;
	const char *name;
} network_types[] = {
		{0x6969, "NFS"},
		{0x517b, "SMB"},
		{0xff534d42, "CIFS"},
		{0xfe534d42, "SMB2"},
		{0x01021997, "9p"},
		{0x65735546, "FUSE"},
		{0x5346414f, "AFS"},
		{0x6b414653, "AFS"},
		{0x73757245, "Coda"},
		{0x564c, "NCP"},
		{0x00c36400, "Ceph"},
		{0x47504653, "GPFS"},
		{0x0bd00bd0, "Lustre"},
		{0x01161970, "GFS2"},
		{0x7461636f, "OCFS2"},
};

static enum belfry_status refuse_errno(struct belfry_error *err, int code, const char *what,
		const char *path)
{
	(void)bf_error_set(err, BELFRY_CONFIGURATION,
			"the store's %s cannot be used (%s): let this process read and write it, or "
			"set another store",
			what, strerror(code));
	if (err != NULL) {
		err->driver_code = code;
		(void)snprintf(err->detail, sizeof(err->detail), "%s", path);
	}
	return BELFRY_CONFIGURATION;
}

static enum belfry_status check_file_system(const char *folder, struct belfry_error *err)
{
	struct statfs system;

	if (statfs(folder, &system) != 0) {
		return refuse_errno(err, errno, "folder", folder);
	}
	for (size_t i = 0; i < BF_COUNT(network_types); i++) {
		if (network_types[i].magic == (uint32_t)system.f_type) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"the store's folder is on a %s file system, where a store "
					"file is not safe: put it on a local disk",
					network_types[i].name);
		}
	}
	return BELFRY_OK;
}

static char *join(struct belfry_str folder, struct belfry_str name, const char *suffix)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	bf_buf_append_str(&path, folder);
	if (folder.len == 0 || folder.ptr[folder.len - 1] != '/') {
		bf_buf_append_byte(&path, '/');
	}
	bf_buf_append_str(&path, name);
	bf_buf_append_text(&path, suffix);
	return bf_buf_take(&path);
}

static enum belfry_status join_all(struct bf_paths *paths, struct belfry_str folder,
		struct belfry_str name)
{
	paths->database = join(folder, name, "");
	paths->lock = join(folder, name, ".lock");
	paths->output = join(folder, name, ".output");
	paths->log = join(folder, name, "-wal");
	paths->log_index = join(folder, name, "-shm");
	if (paths->database == NULL || paths->lock == NULL || paths->output == NULL ||
			paths->log == NULL || paths->log_index == NULL) {
		bf_paths_fini(paths);
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

/* The folder part without its last slash ("/" and "." stay), and the name behind it. */
static void split(struct belfry_str path, struct belfry_str *ret_folder,
		struct belfry_str *ret_name)
{
	size_t at = path.len;

	while (at > 0 && path.ptr[at - 1] != '/') {
		at--;
	}
	*ret_name = bf_str_slice(path, at, path.len);
	*ret_folder = at == 0 ? bf_str(".") : at == 1 ? bf_str("/") : bf_str_slice(path, 0, at - 1);
}

enum belfry_status bf_paths_init(struct bf_paths *paths, struct belfry_str url,
		struct belfry_error *err)
{
	struct belfry_str folder, name;
	struct belfry_str scheme = BF_STR("sqlite:");

	if (!bf_str_starts_with(url, scheme) || memchr(url.ptr, '\0', url.len) != NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's address must be \"sqlite:\" and the path of a file");
	}
	struct belfry_str path = bf_str_slice(url, scheme.len, url.len);
	if (path.len > 0 && path.ptr[0] == ':') {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's address begins with a colon where the path of a file is "
				"needed: name a file, as in \"sqlite:belfry.db\"");
	}
	split(path, &folder, &name);
	if (name.len == 0 || bf_str_equal(name, BF_STR(".")) || bf_str_equal(name, BF_STR(".."))) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's address names no file: add a file name to the path");
	}
	BF_CLEANUP(bf_free_pointer) char *given = bf_str_dup(folder);
	BF_CLEANUP(bf_free_pointer) char *real = bf_alloc(PATH_MAX);
	if (given == NULL || real == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (realpath(given, real) == NULL) {
		return refuse_errno(err, errno, "folder", given);
	}
	enum belfry_status status = check_file_system(real, err);
	return status == BELFRY_OK ? join_all(paths, bf_str(real), name) : status;
}

void bf_paths_fini(struct bf_paths *paths)
{
	bf_free(paths->database);
	bf_free(paths->lock);
	bf_free(paths->output);
	bf_free(paths->log);
	bf_free(paths->log_index);
	*paths = (struct bf_paths){0};
}

static enum belfry_status refuse_held(int lock, struct belfry_error *err)
{
	char owner[OWNER_BYTES];
	ssize_t len = pread(lock, owner, sizeof(owner) - 1, 0);

	owner[len > 0 ? len : 0] = '\0';
	return bf_error_set(err, BELFRY_BUSY,
			"the store is in use by %s: stop that process, or wait until it has ended",
			len > 0 ? owner : "another process");
}

bool bf_file_is_current(int file, const char *path)
{
	struct stat held, named;

	return fstat(file, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
			held.st_dev == named.st_dev;
}

static enum belfry_status write_owner(int lock, const char *path, struct belfry_str owner,
		struct belfry_error *err)
{
	char text[OWNER_BYTES];
	int room = OWNER_BYTES - 32; /* for the number behind it */
	int len = snprintf(text, sizeof(text), "%.*s (process %ld)",
			owner.len > 0 ? BF_MIN((int)owner.len, room) : 7,
			owner.len > 0 ? owner.ptr : "someone", (long)getpid());

	if (ftruncate(lock, 0) != 0 || pwrite(lock, text, (size_t)len, 0) < 0) {
		/* A full disk must not keep the owner out: the text is for people alone. */
		return errno == ENOSPC || errno == EDQUOT ? BELFRY_OK
							  : refuse_errno(err, errno, "lock", path);
	}
	return BELFRY_OK;
}

/* BELFRY_CONFLICT: the file was replaced meanwhile; take it anew. */
static enum belfry_status lock_once(int lock, const char *path, bool is_standby,
		struct belfry_error *err)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(lock, is_standby ? F_OFD_SETLKW : F_OFD_SETLK, &whole) == 0) {
		return bf_file_is_current(lock, path) ? BELFRY_OK : BELFRY_CONFLICT;
	}
	if (errno == EAGAIN || errno == EACCES) {
		return refuse_held(lock, err);
	}
	if (errno == EINTR) {
		return bf_error_set(err, BELFRY_BUSY, "waiting for the store was interrupted");
	}
	return refuse_errno(err, errno, "lock", path);
}

enum belfry_status bf_lock_take(const char *path, struct belfry_str owner, bool is_standby,
		int *ret_lock, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_CONFLICT;

	while (status == BELFRY_CONFLICT) {
		int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (lock < 0) {
			return refuse_errno(err, errno, "folder", path);
		}
		status = lock_once(lock, path, is_standby, err);
		if (status == BELFRY_OK) {
			status = write_owner(lock, path, owner, err);
		}
		if (status == BELFRY_OK) {
			*ret_lock = lock;
		} else {
			bf_lock_release(lock);
		}
	}
	return status;
}

/* Refuses what is no plain file, without opening it: closing it again would drop the locks that another
 * connection of this process holds. A file that is not there yet is fine. */
static enum belfry_status check_kind(const char *path, struct belfry_error *err)
{
	struct stat found;
	enum belfry_status status = BELFRY_OK;

	if (lstat(path, &found) != 0) {
		return errno == ENOENT ? BELFRY_OK : refuse_errno(err, errno, "file", path);
	}
	if (!S_ISREG(found.st_mode)) {
		status = bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's file is not a regular file: name a regular file, or one "
				"that is not there yet");
	}
	if (S_ISREG(found.st_mode) && found.st_nlink > 1) {
		status = bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's file has %llu names (hard links), under each of which a "
				"process could use it: remove all names but one, or make this one a "
				"copy",
				(unsigned long long)found.st_nlink);
	}
	if (status != BELFRY_OK && err != NULL) {
		(void)snprintf(err->detail, sizeof(err->detail), "%s", path);
	}
	return status;
}

/* Bytes of the file; 0 where there is none. */
static int64_t size_of(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 ? (int64_t)found.st_size : 0;
}

bool bf_file_is_there(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0;
}

bool bf_file_is_empty(const char *path)
{
	return bf_file_is_there(path) && size_of(path) == 0;
}

/* A life leaves traces: output is written only beside a database that was synced before, and the index
 * of the log goes before the log does. Where the traces are without what they belong to, a start would
 * begin anew and say nothing. */
enum belfry_status bf_paths_check_traces(const struct bf_paths *paths, struct belfry_error *err)
{
	const char *missing = NULL;

	if (size_of(paths->database) == 0 && size_of(paths->output) > 0) {
		(void)bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's file is gone or empty, but the output file beside it is "
				"there: put back the store's file, or remove the output file to begin "
				"anew");
		missing = paths->database;
	} else if (bf_file_is_there(paths->log_index) && !bf_file_is_there(paths->log)) {
		(void)bf_error_set(err, BELFRY_CONFIGURATION,
				"the store was not closed and the log beside its file is gone: put "
				"back the log, or remove the log's index (the name ending in -shm) to "
				"go on without what the log held");
		missing = paths->log;
	}
	if (missing != NULL && err != NULL) {
		(void)snprintf(err->detail, sizeof(err->detail), "missing: %s", missing);
	}
	return missing != NULL ? BELFRY_CONFIGURATION : BELFRY_OK;
}

enum belfry_status bf_paths_check(const struct bf_paths *paths, struct belfry_error *err)
{
	enum belfry_status status = check_kind(paths->database, err);

	return status == BELFRY_OK ? check_kind(paths->output, err) : status;
}

void bf_lock_release(int lock)
{
	(void)close(lock); /* nothing was written that matters */
}

static enum belfry_status refuse_second(int code, const char *path, struct belfry_error *err)
{
	if (code == EINTR) {
		return bf_error_set(err, BELFRY_BUSY, "waiting for the store was interrupted");
	}
	if (code != EAGAIN && code != EACCES) {
		return refuse_errno(err, code, "file", path);
	}
	(void)bf_error_set(err, BELFRY_BUSY,
			"the store's file is in use by another process, which knows it by another "
			"name: stop that process, or name another file");
	if (err != NULL) {
		(void)snprintf(err->detail, sizeof(err->detail), "%s", path);
	}
	return BELFRY_BUSY;
}

enum belfry_status bf_file_hold(const char *path, bool is_standby, int *ret_file,
		struct belfry_error *err)
{
	struct flock mark = {.l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = BF_FILE_MARK,
			.l_len = 1};
	int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (file < 0) {
		return refuse_errno(err, errno, "file", path);
	}
	if (fcntl(file, is_standby ? F_OFD_SETLKW : F_OFD_SETLK, &mark) != 0) {
		int code = errno;
		(void)close(file);
		return refuse_second(code, path, err);
	}
	*ret_file = file;
	return BELFRY_OK;
}

enum belfry_status bf_file_check(const char *path, struct belfry_error *err)
{
	static const char magic[16] = "SQLite format 3";
	char head[sizeof(magic)];
	int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (file < 0) {
		return refuse_errno(err, errno, "file", path);
	}
	ssize_t len = pread(file, head, sizeof(head), 0);
	int code = errno;
	(void)close(file);
	if (len < 0) {
		return refuse_errno(err, code, "file", path);
	}
	if (len != 0 && (len != sizeof(head) || memcmp(head, magic, sizeof(magic)) != 0)) {
		(void)bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's file is not a store: name another file, or put back a "
				"copy of the right one");
		if (err != NULL) {
			(void)snprintf(err->detail, sizeof(err->detail), "%s", path);
		}
		return BELFRY_CONFIGURATION;
	}
	return BELFRY_OK;
}
