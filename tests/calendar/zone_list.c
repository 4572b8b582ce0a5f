/* Zones by name: the names come from the files, never from our own reader, so that a file that it refuses
 * is missed by nobody. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "cases.h"

#include "zone_list.h"

#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "calendar/zones.h"

#define SOURCE "/usr/share/zoneinfo/tzdata.zi"

extern char **environ;

/* nftw has no argument for the caller. */
static struct {
	struct zone_list *list;
	size_t prefix;
	ino_t seen[ZONE_LIST_MAX];
} walk;

static bool is_zone_file(const char *path)
{
	char magic[4] = {0};
	FILE *file = fopen(path, "re");

	if (file == NULL) {
		return false;
	}
	size_t got = fread(magic, 1, sizeof(magic), file);
	(void)fclose(file); /* it was only read */
	return got == sizeof(magic) && memcmp(magic, "TZif", sizeof(magic)) == 0;
}

static bool was_seen(ino_t inode)
{
	for (size_t i = 0; i < walk.list->count; i++) {
		if (walk.seen[i] == inode) {
			return true;
		}
	}
	return false;
}

static int take_file(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	struct zone_list *list = walk.list;
	struct belfry_str name = bf_str(path + walk.prefix);

	(void)where;
	if (kind != FTW_F || bf_zones_check_name(name, NULL) != BELFRY_OK || !is_zone_file(path) ||
			was_seen(info->st_ino)) {
		return 0;
	}
	if (list->count == ZONE_LIST_MAX) {
		return 1;
	}
	walk.seen[list->count] = info->st_ino;
	list->names[list->count] = bf_str_dup(name);
	list->count++;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void zone_list_read(const char *directory, struct zone_list *ret_list)
{
	ret_list->count = 0;
	walk.list = ret_list;
	walk.prefix = strlen(directory) + 1;
	assert_int_equal(nftw(directory, take_file, 16, FTW_PHYS), 0);
	qsort(ret_list->names, ret_list->count, sizeof(ret_list->names[0]), compare_names);
	assert_true(ret_list->count > 300);
}

void zone_list_fini(struct zone_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		bf_free(list->names[i]);
	}
	list->count = 0;
}

void zic_make(const char *const *arguments, char *directory)
{
	const char *words[9] = {"zic"};
	char *copies[BF_COUNT(words)] = {NULL};
	size_t count = 1;
	pid_t child;
	int status = -1;

	(void)snprintf(directory, sizeof("/tmp/belfry-zic-XXXXXX"), "/tmp/belfry-zic-XXXXXX");
	assert_non_null(mkdtemp(directory));
	while (*arguments != NULL) {
		words[count++] = *arguments++;
	}
	words[count++] = "-d";
	words[count++] = directory;
	words[count++] = SOURCE;
	for (size_t i = 0; i < count; i++) {
		copies[i] = bf_str_dup(bf_str(words[i]));
	}
	if (access("/usr/sbin/zic", X_OK) != 0 || access(SOURCE, R_OK) != 0) {
		fail_msg("zic or its source is missing: install libc-bin and tzdata");
	}
	assert_int_equal(posix_spawn(&child, "/usr/sbin/zic", NULL, NULL, copies, environ), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < count; i++) {
		bf_free(copies[i]);
	}
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	return remove(path);
}

void zic_remove(const char *directory)
{
	assert_int_equal(nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}
