/* What a process costs: processor time and memory, as the system tells them. */
#include "process.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/str.h"
#include "ceiling.h"

int64_t bench_cpu_us(void)
{
	struct rusage use;

	bench_need(getrusage(RUSAGE_SELF, &use) == 0, "rusage");
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * BELFRY_SECOND + use.ru_utime.tv_usec +
			use.ru_stime.tv_usec;
}

int64_t bench_memory(const char *field)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int64_t kilobytes = 0;

	bench_need(file != NULL, "/proc/self/status");
	while (fgets(line, sizeof(line), file) != NULL) {
		struct belfry_str text = bf_str(line);
		if (!bf_str_starts_with(text, bf_str(field))) {
			continue;
		}
		size_t begin = strcspn(line, "0123456789");
		size_t end = begin + strspn(line + begin, "0123456789");
		bench_need(bf_str_parse_int(bf_str_slice(text, begin, end), 0, INT64_MAX / 1024,
					   &kilobytes) == BELFRY_OK,
				"a size");
	}
	(void)fclose(file);
	return kilobytes * 1024;
}
