/* Making, writing and reading the first token.
 *
 * Invariants  the file appears under its name whole, with its mode, and over nothing that was there (a
 *             link, which fails where the name is taken): a crash leaves no half of it. What is read is
 *             a regular file of our own user that nobody else may read or write.
 * Not here    who knows which token (tokens.c). */
#include "host/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/hash.h"

#define RANDOM_BYTES 32
#define NEW_FILE     BF_TOKEN_FILE ".new"
#define OTHERS       077 /* any of these bits lets somebody else in */

/* ---- the text ---------------------------------------------------------------------------------- */

void bf_token_text_wipe(struct bf_token_text *token)
{
	OPENSSL_cleanse(token, sizeof(*token));
}

void bf_token_make(const struct bf_env *env, struct bf_token_text *ret_token)
{
	unsigned char bytes[RANDOM_BYTES];
	char base64[(RANDOM_BYTES + 2) / 3 * 4 + 1];

	env->random(env->data, bytes, sizeof(bytes));
	bf_base64_encode(bytes, sizeof(bytes), base64);
	for (char *at = base64; *at != '\0'; at++) {
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
	}
	(void)snprintf(ret_token->text, sizeof(ret_token->text), BF_TOKEN_PREFIX "%.43s", base64);
	OPENSSL_cleanse(bytes, sizeof(bytes));
	OPENSSL_cleanse(base64, sizeof(base64));
}

bool bf_token_is_formed(struct belfry_str text)
{
	struct belfry_str prefix = BF_STR(BF_TOKEN_PREFIX);

	if (text.len != BF_TOKEN_TEXT_BYTES || !bf_str_starts_with(text, prefix)) {
		return false;
	}
	for (size_t i = prefix.len; i < text.len; i++) {
		char c = text.ptr[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
				    c == '-' || c == '_')) {
			return false;
		}
	}
	return true;
}

/* ---- the file ---------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
	if (*fd >= 0) {
		(void)close(*fd); /* what was written was synced before */
	}
}

static enum belfry_status refuse(const char *folder, const char *what, const char *remedy,
		struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_CONFIGURATION, "%s/" BF_TOKEN_FILE " %s: %s", folder, what,
			remedy);
}

static enum belfry_status open_folder(const char *folder, int *ret_fd, struct belfry_error *err)
{
	*ret_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the folder %s cannot be opened (%s): name another one with --data",
				folder, strerror(errno));
	}
	return BELFRY_OK;
}

static enum belfry_status check_file(const char *folder, int fd, struct belfry_error *err)
{
	struct stat info;

	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
		return refuse(folder, "is no plain file", "remove it", err);
	}
	if (info.st_uid != geteuid()) {
		return refuse(folder, "belongs to another user",
				"give it to the host's own user, or remove it", err);
	}
	if ((info.st_mode & OTHERS) != 0) {
		return refuse(folder, "is open to others",
				"whoever read it has the token, so remove the file and start with "
				"--new-admin-token; where nobody can have read it, chmod 600 will do",
				err);
	}
	return BELFRY_OK;
}

static enum belfry_status read_text(const char *folder, int fd, struct bf_token_text *ret_token,
		struct belfry_error *err)
{
	char bytes[BF_TOKEN_TEXT_BYTES + 2];
	ssize_t got = read(fd, bytes, sizeof(bytes));
	struct belfry_str text = {bytes, got > 0 ? (size_t)got : 0};
	enum belfry_status status = BELFRY_OK;

	if (text.len > 0 && text.ptr[text.len - 1] == '\n') {
		text.len--;
	}
	if (bf_token_is_formed(text)) {
		memcpy(ret_token->text, text.ptr, text.len);
		ret_token->text[text.len] = '\0';
	} else {
		status = refuse(folder, "holds no token of ours",
				"remove it and start with --new-admin-token", err);
	}
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return status;
}

enum belfry_status bf_token_file_read(const char *folder, struct bf_token_text *ret_token,
		struct belfry_error *err)
{
	BF_CLEANUP(close_fd) int place = -1;
	BF_CLEANUP(close_fd) int fd = -1;
	enum belfry_status status = open_folder(folder, &place, err);

	if (status != BELFRY_OK) {
		return status;
	}
	fd = openat(place, BF_TOKEN_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "there is no %s/" BF_TOKEN_FILE, folder);
	}
	if (fd < 0 && errno == ELOOP) {
		return refuse(folder, "is a symbolic link", "remove it", err);
	}
	if (fd < 0) {
		return refuse(folder, "cannot be read",
				"give it to the host's own user, or remove it", err);
	}
	status = check_file(folder, fd, err);
	return status == BELFRY_OK ? read_text(folder, fd, ret_token, err) : status;
}

static enum belfry_status refuse_write(const char *folder, int code, struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"%s/" BF_TOKEN_FILE " cannot be written (%s): make the folder writable for "
			"the host's own user, or name another one with --data",
			folder, strerror(code));
}

/* The text and a newline, synced, in a file of the other name. 0 or an errno. */
static int write_new(int place, const struct bf_token_text *token)
{
	BF_CLEANUP(close_fd) int fd = -1;

	if (unlinkat(place, NEW_FILE, 0) != 0 && errno != ENOENT) {
		return errno; /* a crash may have left one */
	}
	fd = openat(place, NEW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) != 0) {
		return errno;
	}
	if (write(fd, token->text, BF_TOKEN_TEXT_BYTES) != (ssize_t)BF_TOKEN_TEXT_BYTES ||
			write(fd, "\n", 1) != 1) {
		return errno != 0 ? errno : ENOSPC;
	}
	return fsync(fd) == 0 ? 0 : errno;
}

enum belfry_status bf_token_file_write(const char *folder, const struct bf_token_text *token,
		struct belfry_error *err)
{
	BF_CLEANUP(close_fd) int place = -1;
	enum belfry_status status = open_folder(folder, &place, err);

	if (status != BELFRY_OK) {
		return status;
	}
	int code = write_new(place, token);
	if (code == 0 && linkat(place, NEW_FILE, place, BF_TOKEN_FILE, 0) != 0) {
		code = errno;
	}
	(void)unlinkat(place, NEW_FILE, 0); /* else the next writing removes it */
	if (code == 0 && fsync(place) != 0) {
		code = errno;
	}
	return code == 0 ? BELFRY_OK : refuse_write(folder, code, err);
}
