/* What this process costs (docs/performance.md). Ends the program where the system does not say. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdint.h>

/* Processor time so far, microseconds. */
int64_t bench_cpu_us(void);
/* Bytes: "VmRSS:" now, "VmHWM:" at most. */
int64_t bench_memory(const char *field);

#endif
