/* Named secrets from files or the environment.
 *
 * Invariants  a name has no slash and no leading dot, so that it stays inside its folder. Messages hold
 *             the name alone; details hold the path; neither holds the text.
 * Not here    nothing is cached, and nothing decoded (signature.c). */
#include "host/targets/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

struct bf_secrets {
	char *data_folder;
	char *credentials_folder;
};

static void close_fd(int *fd)
{
	if (*fd >= 0) {
		(void)close(*fd); /* nothing was written */
	}
}

void bf_secrets_free(struct bf_secrets *secrets)
{
	if (secrets != NULL) {
		bf_free(secrets->data_folder);
		bf_free(secrets->credentials_folder);
		bf_free(secrets);
	}
}

BF_CLEANUP_POINTER(secrets, struct bf_secrets, bf_secrets_free)

enum belfry_status bf_secrets_new(const char *data_folder, const char *credentials_folder,
		struct bf_secrets **ret_secrets)
{
	BF_CLEANUP(bf_cleanup_secrets) struct bf_secrets *secrets = bf_alloc(sizeof(*secrets));

	if (secrets == NULL) {
		return BELFRY_NOMEM;
	}
	if (data_folder != NULL) {
		secrets->data_folder = bf_str_dup(bf_str(data_folder));
	}
	if (credentials_folder != NULL) {
		secrets->credentials_folder = bf_str_dup(bf_str(credentials_folder));
	}
	if ((data_folder != NULL && secrets->data_folder == NULL) ||
			(credentials_folder != NULL && secrets->credentials_folder == NULL)) {
		return BELFRY_NOMEM;
	}
	*ret_secrets = BF_TAKE(secrets);
	return BELFRY_OK;
}

enum belfry_status bf_secret_name_check(struct belfry_str name, struct belfry_error *err)
{
	bool is_good = name.len > 0 && name.len <= BF_SECRET_NAME_BYTES && name.ptr[0] != '.' &&
			name.ptr[0] != '-';

	for (size_t i = 0; is_good && i < name.len; i++) {
		char c = name.ptr[i];
		is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
	}
	if (!is_good) {
		return bf_error_set(err, BELFRY_INVALID,
				"the name of a secret is 1 to %d letters, digits, '-', '_' or '.', and "
				"begins with a letter, digit or '_'",
				BF_SECRET_NAME_BYTES);
	}
	return BELFRY_OK;
}

/* --- where it lies --- */

static enum belfry_status check_file(int fd, mode_t forbidden, struct belfry_str name,
		const char *path, struct belfry_error *err)
{
	struct stat info;

	if (fstat(fd, &info) != 0) {
		return bf_error_system(err, BELFRY_CONFIGURATION, errno, "%s: cannot be examined",
				path);
	}
	if (!S_ISREG(info.st_mode)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the secret %.*s is not a regular file", BF_STR_ARGS(name));
	}
	if (info.st_uid != geteuid() && info.st_uid != 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the file of the secret %.*s belongs to somebody else: give it to the "
				"host's own user",
				BF_STR_ARGS(name));
	}
	if ((info.st_mode & forbidden) != 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the file of the secret %.*s has mode %04o: others may read it; set 0600",
				BF_STR_ARGS(name), (unsigned)(info.st_mode & 07777));
	}
	return BELFRY_OK;
}

static enum belfry_status read_all(int fd, struct bf_secret *secret, struct belfry_str name,
		struct belfry_error *err)
{
	secret->text_bytes = BF_SECRET_BYTES + 2;
	secret->text = bf_alloc(secret->text_bytes);
	if (secret->text == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a secret");
	}
	size_t len = 0;
	while (len <= BF_SECRET_BYTES) {
		ssize_t got = read(fd, secret->text + len, BF_SECRET_BYTES + 1 - len);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			return bf_error_system(err, BELFRY_CONFIGURATION, errno,
					"the secret %.*s cannot be read", BF_STR_ARGS(name));
		}
		if (got == 0) {
			return BELFRY_OK;
		}
		len += (size_t)got;
	}
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"the secret %.*s has more than %d bytes: is that the right file?",
			BF_STR_ARGS(name), BF_SECRET_BYTES);
}

/* BELFRY_NOT_FOUND where the folder has no such file. */
static enum belfry_status read_file(const char *folder, const char *below, mode_t forbidden,
		struct belfry_str name, struct bf_secret *secret, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(close_fd) int fd = -1;

	if (folder == NULL) {
		return BELFRY_NOT_FOUND;
	}
	bf_buf_appendf(&path, "%s%s/%.*s", folder, below, BF_STR_ARGS(name));
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a path");
	}
	/* Never waits, should it be a pipe. */
	fd = open(path.ptr, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		return BELFRY_NOT_FOUND;
	}
	if (fd < 0) {
		int code = errno;
		(void)bf_error_set(err, BELFRY_CONFIGURATION,
				"the file of the secret %.*s cannot be opened: give it to the host's own "
				"user, mode 0600",
				BF_STR_ARGS(name));
		if (err != NULL) {
			err->driver_code = code;
		}
		return BELFRY_CONFIGURATION;
	}
	enum belfry_status status = check_file(fd, forbidden, name, path.ptr, err);
	return status == BELFRY_OK ? read_all(fd, secret, name, err) : status;
}

static void format_variable(struct belfry_str name, char *out)
{
	static const char prefix[] = "BELFRY_SECRET_";
	size_t at = sizeof(prefix) - 1;

	memcpy(out, prefix, sizeof(prefix));
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		c = c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
		out[at++] = c == '-' || c == '.' ? '_' : c;
	}
	out[at] = '\0';
}

static enum belfry_status read_variable(struct belfry_str name, struct bf_secret *secret,
		struct belfry_error *err)
{
	char variable[sizeof("BELFRY_SECRET_") + BF_SECRET_NAME_BYTES];

	format_variable(name, variable);
	const char *text = getenv(variable);
	if (text == NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"there is no secret %.*s: put it into the data folder's secrets/%.*s (mode "
				"0600), or into %s",
				BF_STR_ARGS(name), BF_STR_ARGS(name), variable);
	}
	secret->text_bytes = strlen(text) + 1;
	secret->text = bf_str_dup(bf_str(text));
	return secret->text != NULL
			? BELFRY_OK
			: bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a secret");
}

/* --- what it holds --- */

static struct belfry_str trim(struct belfry_str line)
{
	while (line.len > 0 && strchr(" \t\r", line.ptr[line.len - 1]) != NULL) {
		line.len--;
	}
	while (line.len > 0 && strchr(" \t", line.ptr[0]) != NULL) {
		line = bf_str_slice(line, 1, line.len);
	}
	return line;
}

static enum belfry_status split_lines(struct bf_secret *secret, struct belfry_str name,
		struct belfry_error *err)
{
	struct belfry_str rest = bf_str(secret->text);

	while (rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
		struct belfry_str line = trim(bf_str_slice(rest, 0, len));
		rest = bf_str_slice(rest, len + 1, rest.len);
		if (line.len == 0) {
			continue;
		}
		if (secret->count == BF_SECRET_VALUES) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"the secret %.*s has more than two lines: each line is one secret, and "
					"at most two hold at once",
					BF_STR_ARGS(name));
		}
		secret->values[secret->count++] = line;
	}
	if (secret->count == 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION, "the secret %.*s is empty",
				BF_STR_ARGS(name));
	}
	return BELFRY_OK;
}

enum belfry_status bf_secrets_get(const struct bf_secrets *secrets, struct belfry_str name,
		struct bf_secret *ret_secret, struct belfry_error *err)
{
	BF_CLEANUP(bf_secret_fini) struct bf_secret secret = {0};

	enum belfry_status status = bf_secret_name_check(name, err);
	if (status != BELFRY_OK) {
		return status;
	}
	status = read_file(secrets->data_folder, "/secrets", 0177, name, &secret, err);
	if (status == BELFRY_NOT_FOUND) {
		/* systemd grants its user by an access list, which shows as mode 0440. */
		status = read_file(secrets->credentials_folder, "", 0137, name, &secret, err);
	}
	if (status == BELFRY_NOT_FOUND) {
		status = read_variable(name, &secret, err);
	}
	if (status == BELFRY_OK) {
		status = split_lines(&secret, name, err);
	}
	if (status == BELFRY_OK) {
		*ret_secret = secret;
		secret = (struct bf_secret){0};
	}
	return status;
}

void bf_secret_fini(struct bf_secret *secret)
{
	if (secret->text != NULL) {
		OPENSSL_cleanse(secret->text, secret->text_bytes);
	}
	bf_free(secret->text);
	*secret = (struct bf_secret){0};
}
