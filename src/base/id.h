/* Ids of 128 bits (struct belfry_id): random ones, their order, and what the id of a due time says. Their
 * text, and belfry_run_id, are public: run.h. */
#ifndef BF_ID_H
#define BF_ID_H

#include <belfry/run.h>

#include "base/env.h"

/* A UUID version 4 (RFC 9562): incarnations, deployments. */
struct belfry_id bf_id_random(const struct bf_env *env);
/* Lays version and variant bits over an id. */
void bf_id_put_version(struct belfry_id *id, unsigned version);
/* Its first six bytes: milliseconds since 1970, big endian, as large as they can be. `at`: not below 0. */
void bf_id_put_time(struct belfry_id *id, belfry_time at);
bool bf_id_is_zero(struct belfry_id id);
int bf_id_compare(struct belfry_id a, struct belfry_id b); /* as bytes: <0, 0, >0 */

/* How long after its due time a Run of a rule with `spread` gets ready (contract.md, "Spread"): the
 * last six bytes of its id, big endian, modulo the window, floored to a millisecond. The same everywhere,
 * because the id is. window  microseconds; 0 or less: no spread, 0. */
belfry_duration bf_id_spread(struct belfry_id run, belfry_duration window);

#endif
