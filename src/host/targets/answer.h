/* How a call to a target ended, and what that means for its Run. Pure, any thread. */
#ifndef BF_HOST_TARGETS_ANSWER_H
#define BF_HOST_TARGETS_ANSWER_H

#include <belfry/run.h>

#include "base/compiler.h"

enum bf_answer_kind {
	BF_ANSWER_ANSWERED,    /* with `status` */
	BF_ANSWER_UNREACHABLE, /* no name, no connection, broken off, or no resources here */
	BF_ANSWER_TIMEOUT,     /* it may have been carried out all the same */
	BF_ANSWER_NOT_ALLOWED, /* every address of it is refused */
	BF_ANSWER_CANCELLED    /* by us: the Run is over, or the host stops */
};

enum bf_verdict { BF_VERDICT_OK, BF_VERDICT_RETRY, BF_VERDICT_PERMANENT };

/* Text is borrowed for the length of the callback. */
struct bf_answer {
	enum bf_answer_kind kind;
	int status;                  /* of HTTP; 0 unless answered */
	belfry_duration retry_after; /* 0: none was given; else from a second to an hour */
	belfry_duration took;        /* from the start of the call, without its time in the queue */
	struct belfry_str body;      /* at most the limit */
	bool is_truncated;
	bool is_unreadable; /* with UNREACHABLE: something came that is no whole answer of HTTP */
	bool is_private;    /* with NOT_ALLOWED: a setting would allow its address */
	struct belfry_str content_type;
	struct belfry_str detail; /* for operators; no secret, no path of the URL */
};

#define BF_RETRY_AFTER_MAX BELFRY_HOUR

/* 2xx is done; 408, 425, 429, 5xx, network faults and what we broke off may be tried again; any other
 * answer (redirects too) and an address that is refused stay as they are. */
enum bf_verdict bf_answer_verdict(const struct bf_answer *answer);
/* The public word for it; NONE with BF_VERDICT_OK. */
enum belfry_run_error bf_answer_error(const struct bf_answer *answer);

/* The value of Retry-After: seconds, or a date that is compared with `now`. From one second to
 * BF_RETRY_AFTER_MAX; 0 where it is neither. */
belfry_duration bf_retry_after_parse(struct belfry_str text, belfry_time now);

#endif
