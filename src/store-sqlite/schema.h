/* The tables of the store file, brought into being by numbered steps. */
#ifndef BF_STORE_SQLITE_SCHEMA_H
#define BF_STORE_SQLITE_SCHEMA_H

#include "store-sqlite/db.h"

/* Refuses a file of another program, a newer schema, and one that lacks a key that uniqueness rests
 * on (BELFRY_CONFIGURATION); applies the missing steps, each in a transaction of its own. */
BF_MUST_CHECK enum belfry_status bf_schema_migrate(struct bf_db *db, struct belfry_error *err);
/* The file beside it that holds output. */
BF_MUST_CHECK enum belfry_status bf_schema_migrate_output(struct bf_db *db,
		struct belfry_error *err);

/* What a failure while opening is to the operator: a file that cannot be read is BELFRY_CONFIGURATION,
 * with the remedy; everything else as it is. */
enum belfry_status bf_schema_refuse(const struct bf_db *db, enum belfry_status status,
		struct belfry_error *err);

#endif
