/* The local half of `belfry doctor`: a data folder and the secrets in it. Opens no database. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/doctor_report.h"

#define MIB          (UINT64_C(1) << 20)
#define SPACE_WARN   (1024 * MIB)
#define SPACE_FAIL   (64 * MIB)
#define SECRETS_MODE 077 /* nobody else may read, write or search */

static void check_owner(struct bf_report *report, const char *path, const struct stat *info)
{
	if (info->st_uid != geteuid()) {
		bf_report_put(report, BF_FINDING_WARN, "data",
				"run the host and this check as the folder's owner",
				"%s belongs to another user", path);
	} else if ((info->st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		bf_report_put(report, BF_FINDING_FAIL, "data", "chmod go-w on it",
				"others may write in %s", path);
	} else {
		bf_report_put(report, BF_FINDING_OK, "data", NULL, "%s is ours alone to write",
				path);
	}
}

static void check_space(struct bf_report *report, const char *path)
{
	struct statvfs info;

	if (statvfs(path, &info) != 0) {
		return;
	}
	uint64_t left = (uint64_t)info.f_bavail * info.f_frsize;
	const char *remedy = "make room, or shorten what is kept (keep_age)";
	enum bf_finding finding = left < SPACE_FAIL ? BF_FINDING_FAIL
			: left < SPACE_WARN         ? BF_FINDING_WARN
						    : BF_FINDING_OK;

	bf_report_put(report, finding, "space", finding == BF_FINDING_OK ? NULL : remedy,
			"%llu MiB left beside the data", (unsigned long long)(left / MIB));
}

/* Numbers of linux/magic.h: file systems whose locks and syncs a database cannot rest on. */
static void check_file_system(struct bf_report *report, const char *path)
{
	static const struct {
		unsigned long magic;
		const char *name;
	} remote[] = {{0x6969, "NFS"}, {0x517b, "SMB"}, {0xff534d42, "CIFS"}, {0xfe534d42, "SMB 2"},
			{0x01021997, "9P"}, {0x00c36400, "Ceph"}, {0x65735546, "FUSE"}};
	struct statfs info;

	if (statfs(path, &info) != 0) {
		return;
	}
	for (size_t i = 0; i < BF_COUNT(remote); i++) {
		if (((unsigned long)info.f_type & 0xffffffffUL) == remote[i].magic) {
			bf_report_put(report, BF_FINDING_FAIL, "disk",
					"use a folder on a local disk",
					"%s is on %s, where a file can be lost in a crash", path,
					remote[i].name);
			return;
		}
	}
	bf_report_put(report, BF_FINDING_OK, "disk", NULL, "%s is on a local file system", path);
}

static void check_private(struct bf_report *report, int folder, const char *name, const char *shown)
{
	struct stat info;

	if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(info.st_mode)) {
		return;
	}
	if ((info.st_mode & SECRETS_MODE) != 0) {
		bf_report_put(report, BF_FINDING_FAIL, "secrets", "chmod 600 on it",
				"others may read the file %s", shown);
	}
}

static void check_secrets(struct bf_report *report, int folder)
{
	int secrets = openat(folder, "secrets", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = secrets >= 0 ? fdopendir(secrets) : NULL;

	check_private(report, folder, "admin.token", "admin.token");
	if (list == NULL) {
		if (secrets >= 0) {
			(void)close(secrets);
		}
		return;
	}
	for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
		char shown[300];

		(void)snprintf(shown, sizeof(shown), "secrets/%s", entry->d_name);
		check_private(report, dirfd(list), entry->d_name, shown);
	}
	(void)closedir(list);
}

void bf_doctor_check_data(struct bf_report *report, const char *path)
{
	struct stat info;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0 || fstat(folder, &info) != 0) {
		bf_report_put(report, BF_FINDING_FAIL, "data",
				"name the folder that `belfry serve --data` was given",
				"cannot open %s (%s)", path, strerror(errno));
	} else {
		check_owner(report, path, &info);
		check_file_system(report, path);
		check_space(report, path);
		check_secrets(report, folder);
	}
	if (folder >= 0) {
		(void)close(folder);
	}
}
