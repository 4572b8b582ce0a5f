/* Feeds every file of the given folders to a fuzzer's entry, so that what was once found is looked at by
 * every build and compiler. Each file stands in memory of exactly its size, so that a sanitizer sees a
 * read beyond it. It makes no new input: that is libFuzzer's. Usage: run-corpus FOLDER... */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "fuzz.h"

#define FILE_BYTES (1 << 20)

static char buffer[FILE_BYTES];

static void run_bytes(size_t size)
{
	uint8_t *bytes = malloc(size > 0 ? size : 1);

	fuzz_require(bytes != NULL);
	memcpy(bytes, buffer, size);
	(void)LLVMFuzzerTestOneInput(bytes, size); /* always 0: a finding aborts */
	free(bytes);
}

static bool run_file(const char *folder, const char *name)
{
	char path[4096];
	int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = len > 0 && (size_t)len < sizeof(path) ? fopen(path, "rb") : NULL;

	if (file == NULL) {
		fprintf(stderr, "%s/%s: %s\n", folder, name, strerror(errno));
		return false;
	}
	size_t size = fread(buffer, 1, sizeof(buffer), file);
	(void)fclose(file);
	printf("%s\n", name);
	(void)fflush(stdout); /* the last name is the one at fault */
	run_bytes(size);
	return true;
}

/* How many files it ran; 0: a folder that is missing, empty or cannot be read. */
static size_t run_folder(const char *path)
{
	DIR *folder = opendir(path);
	size_t count = 0;

	if (folder == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 0;
	}
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		if (entry->d_name[0] == '.') {
			continue;
		}
		if (!run_file(path, entry->d_name)) {
			count = 0;
			break;
		}
		count++;
	}
	(void)closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (run_folder(argv[i]) == 0) {
			fprintf(stderr, "%s: no file was run\n", argv[i]);
			return 1;
		}
	}
	return argc > 1 ? 0 : 2;
}
