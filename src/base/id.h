/* Ids of 128 bits (struct belfry_id): random ones and their order. Their text is public: run.h. */
#ifndef BF_ID_H
#define BF_ID_H

#include <belfry/run.h>

#include "base/env.h"

/* A UUID version 4 (RFC 9562): incarnations, deployments. */
struct belfry_id bf_id_random(const struct bf_env *env);
/* Lays version and variant bits over an id. */
void bf_id_put_version(struct belfry_id *id, unsigned version);
bool bf_id_is_zero(struct belfry_id id);
int bf_id_compare(struct belfry_id a, struct belfry_id b); /* as bytes: <0, 0, >0 */

#endif
