/* The zone by the link that /etc/localtime is, the user by the system's data base. No environment: cron
 * does not read it either. */
#include "cli/machine.h"

#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#define ENTRY_BYTES 4096

void bf_machine_zone(struct bf_buf *zone)
{
	static const char folder[] = "/zoneinfo/";
	char path[PATH_MAX];
	ssize_t len = readlink("/etc/localtime", path, sizeof(path) - 1);

	if (len <= 0) {
		return;
	}
	path[len] = '\0';
	const char *found = strstr(path, folder);
	if (found != NULL) {
		bf_buf_append_text(zone, found + sizeof(folder) - 1);
	}
}

void bf_machine_user(const char *user, struct bf_buf *name, struct bf_buf *home)
{
	char text[ENTRY_BYTES];
	struct passwd entry = {0};
	struct passwd *found = NULL;
	int failed = user != NULL ? getpwnam_r(user, &entry, text, sizeof(text), &found)
				  : getpwuid_r(getuid(), &entry, text, sizeof(text), &found);

	if (failed == 0 && found != NULL) {
		bf_buf_append_text(name, found->pw_name);
		bf_buf_append_text(home, found->pw_dir);
	} else if (user != NULL) {
		bf_buf_append_text(name, user);
	} else {
		bf_buf_appendf(name, "%lu", (unsigned long)getuid());
	}
}
