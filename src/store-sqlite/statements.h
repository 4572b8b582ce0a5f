/* Every statement that is sent to the store file, by name (statements.def). */
#ifndef BF_STORE_SQLITE_STATEMENTS_H
#define BF_STORE_SQLITE_STATEMENTS_H

#include <stddef.h>

enum bf_statement {
#define STATEMENT(name, text) BF_ST_##name,
#include "store-sqlite/statements.def"
#undef STATEMENT
	BF_ST_COUNT
};

extern const char *const bf_statement_texts[BF_ST_COUNT];

enum bf_output_statement {
	BF_OUT_PUT,
	BF_OUT_FIND,
	BF_OUT_CUT,
	BF_OUT_DELETE,
	BF_OUT_PIECE_PUT,
	BF_OUT_PIECE_CUT,
	BF_OUT_PIECES_DROP,
	BF_OUT_PIECES_READ,
	BF_OUT_PIECES_DELETE,
	BF_OUT_COUNT
};

extern const char *const bf_output_texts[BF_OUT_COUNT];

#endif
