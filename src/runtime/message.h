/* What travels between the threads: one envelope for all kinds. */
#ifndef BF_MESSAGE_H
#define BF_MESSAGE_H

#include "engine/dispatcher.h"
#include "engine/keeper.h"
#include "engine/planner.h"

enum bf_message_kind {
	BF_MESSAGE_COVER,
	BF_MESSAGE_LOST,
	BF_MESSAGE_TICKETS,
	BF_MESSAGE_BORN,
	BF_MESSAGE_REQUEST,
	BF_MESSAGE_ANSWER,
	BF_MESSAGE_KICK,
	BF_MESSAGE_LOW,
	BF_MESSAGE_BEAT_NOW,
	BF_MESSAGE_CLOCK_BACK,
	BF_MESSAGE_CANCELLED,
	BF_MESSAGE_CHANGED, /* of `schedule`: the host is told */
	BF_MESSAGE_STOP,
	BF_MESSAGE_END
};

struct bf_message {
	struct bf_link link;
	enum bf_message_kind kind;
	bool is_embedded;           /* lives in something else (a reply): not to be freed alone */
	unsigned char schedule_len; /* CHANGED */
	union {
		struct bf_cover cover;
		struct bf_tickets tickets;
		struct bf_born *born;
		struct bf_plan_request *request;
		struct bf_answer *answer;
		struct belfry_id low;
		struct bf_boot_time until;
		struct bf_cancelled cancelled; /* its Runs are the message's: bf_free */
		char schedule[BELFRY_SCHEDULE_ID_BYTES];
	};
};

#endif
