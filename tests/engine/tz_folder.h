/* A tz database of one zone, Test/Zone, in a folder of its own: for databases that differ and change. */
#ifndef ENGINE_TZ_FOLDER_H
#define ENGINE_TZ_FOLDER_H

struct tz_folder {
	char path[64];
};

void tz_folder_init(struct tz_folder *folder);
/* Test/Zone has from now on the content of a zone of this system, and the database this version. */
void tz_folder_put(struct tz_folder *folder, const char *content_of, const char *version);
void tz_folder_fini(struct tz_folder *folder);

#endif
