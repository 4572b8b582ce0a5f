/* What the engine's tests share: times and ids in short words, zones, rules, definitions. */
#ifndef ENGINE_SUPPORT_H
#define ENGINE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <belfry/calendar.h>

#include "base/alloc.h"
#include "base/str.h"
#include "model/definition.h"
#include "model/run.h"

/* 2026-01-05T00:00:00Z, a Monday. */
#define DAY0 ((belfry_time)1767571200000000)

/* DAY0 at h:m:s. */
belfry_time at_time(int h, int m, int s);
struct belfry_id id_of(unsigned n);
struct bf_boot_time boot(int64_t us);

/* The system's zones, shared by all tests of the process; freed by zones_free at the end. */
struct belfry_zones *zones(void);
void zones_free(void);
struct belfry_rule *rule_of(const char *cron);
/* Encoded; owned by the caller (bf_buf_fini). */
struct bf_buf definition_of(const char *cron, const struct belfry_policies *policies);

#endif
