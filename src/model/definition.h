/* A schedule's definition as the store keeps it: opaque bytes, compact, read on every plan. Text is
 * not copied on the way in: a decoded definition borrows from the bytes.
 *
 * Layout: one version byte, then the members in the order of definition.c, integers as little endian
 * of fixed width, text with a two-byte length in front. What does not fit exactly is refused: a row
 * that fails here is quarantined. */
#ifndef BF_MODEL_DEFINITION_H
#define BF_MODEL_DEFINITION_H

#include <belfry/schedule.h>

#include "base/str.h"

struct bf_definition {
	uint32_t flags;     /* BELFRY_SCHEDULE_F_... */
	belfry_time anchor; /* creation time: where {"every": ...} counts from */
	struct belfry_str rule;
	struct belfry_str zone;
	struct belfry_policies policies;
};

void bf_definition_encode(const struct bf_definition *definition, struct bf_buf *out);
/* BELFRY_OK or BELFRY_CORRUPT with a detail that names the member. */
BF_MUST_CHECK enum belfry_status bf_definition_decode(struct belfry_str bytes,
		struct bf_definition *ret_definition, struct belfry_error *err);

/* Are the values inside what contract.md allows, and can this build carry them out? Refusals name the
 * member by its JSON pointer. BELFRY_OK, BELFRY_INVALID, BELFRY_CANNOT (named but not offered). */
BF_MUST_CHECK enum belfry_status bf_policies_check(const struct belfry_policies *policies,
		struct belfry_error *err);

#endif
