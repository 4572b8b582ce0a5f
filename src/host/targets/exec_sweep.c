/* What nobody needs any more in the data folder: Sessions' folders of Runs that retention has removed, and
 * supervisors' folders whose Run is over and that no command here knows of (a start that was killed before
 * its document was stored). On the writer's thread, after a start and every hour.
 *
 * Invariant  a folder goes only where the scheduler says that the Run is gone or over: where it does not
 *            answer, everything stays. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>

#include "host/targets/exec_priv.h"

#define OPEN_FOLDERS 16

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	(void)remove(path); /* what stays is looked at again */
	return 0;
}

static void remove_tree(const struct bf_buf *base, const char *name)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	bf_buf_appendf(&path, "%s/%s", base->ptr, name);
	if (bf_buf_status(&path) == BELFRY_OK) {
		(void)nftw(path.ptr, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	}
}

static bool may_go(struct bf_exec *exec, struct belfry_id run, bool is_session)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run found = {0};
	enum belfry_status status = belfry_scheduler_get_run(exec->options.scheduler, run, &arena,
			&found, NULL);

	if (status == BELFRY_NOT_FOUND) {
		return true;
	}
	return status == BELFRY_OK && !is_session && belfry_run_status_is_terminal(found.status);
}

static void sweep_folder(struct bf_exec *exec, const struct bf_buf *base, bool is_session)
{
	DIR *folder = opendir(base->ptr);
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		struct belfry_id run;
		if (belfry_id_parse(bf_str(entry->d_name), &run) == BELFRY_OK &&
				!bf_exec_knows(exec, run) && may_go(exec, run, is_session)) {
			remove_tree(base, entry->d_name);
		}
	}
	if (folder != NULL) {
		(void)closedir(folder); /* was only read */
	}
}

void bf_exec_sweep(struct bf_exec *exec)
{
	sweep_folder(exec, &exec->folder, false);
	sweep_folder(exec, &exec->sessions, true);
}
