/* A crontab, line by line: what cron would read in it, as slices of the line. What that becomes here is
 * for crontab_import.c.
 *
 * Read are the forms of Vixie cron and its heirs (Debian's, cronie's): variables, five fields or a macro,
 * the user column of system tables, a "-" in front (nothing to syslog), "%" in commands.
 *
 * Ownership  slices borrow from the line; buffers are the caller's. */
#ifndef BF_CLI_CRONTAB_H
#define BF_CLI_CRONTAB_H

#include "base/str.h"

enum bf_crontab_kind {
	BF_CRONTAB_NOTHING, /* blank, or a comment */
	BF_CRONTAB_VARIABLE,
	BF_CRONTAB_COMMAND
};

struct bf_crontab_line {
	enum bf_crontab_kind kind;
	/* BF_CRONTAB_VARIABLE */
	struct belfry_str name;
	struct belfry_str value; /* without the quotes around it */
	/* BF_CRONTAB_COMMAND */
	bool is_quiet;          /* a "-" stood in front */
	struct belfry_str rule; /* the fields as they stand, blanks and tabs between, or "@daily" */
	struct belfry_str user; /* empty where the table has no such column */
	struct belfry_str command;
};

/* BELFRY_OK; BELFRY_INVALID with the byte position of the fault: cron would not run this line either. */
BF_MUST_CHECK enum belfry_status bf_crontab_parse_line(struct belfry_str line, bool has_user,
		struct bf_crontab_line *ret_line, struct belfry_error *err);

/* The command as the shell gets it, and what it gets on standard input: the first "%" without a
 * backslash ends the command, the others are newlines, and the input ends with one. Returns whether
 * there was such a "%". A lack of memory is kept in the buffers. */
bool bf_crontab_split_command(struct belfry_str raw, struct bf_buf *command, struct bf_buf *input);

/* Fields with one blank between them. */
void bf_crontab_put_rule(struct bf_buf *buf, struct belfry_str rule);

/* A name for a deployment, from the command: letters, digits, dots and dashes. At most
 * BF_CRONTAB_NAME_BYTES; of a longer command the name ends in a part of its digest. */
#define BF_CRONTAB_NAME_BYTES 60
BF_MUST_CHECK enum belfry_status bf_crontab_put_name(struct bf_buf *buf, struct belfry_str command);

/* Takes the next line off *rest: without its newline, and without a carriage return before that, which
 * *ret_has_return tells. False at the end. */
bool bf_crontab_next_line(struct belfry_str *rest, struct belfry_str *ret_line,
		bool *ret_has_return);

#endif
