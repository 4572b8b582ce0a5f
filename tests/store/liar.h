/* An adapter that does what the memory store does and then lies: `spoil` may change any answer. */
#ifndef BF_TESTS_STORE_LIAR_H
#define BF_TESTS_STORE_LIAR_H

#include <belfry/documents.h>

/* Each is called where the call under it answered BELFRY_OK; NULL: the truth. */
struct liar_spoil {
	void (*time)(belfry_time *now);
	void (*beat)(struct belfry_beat *beat);
	void (*advance)(struct belfry_advance *advance);
	void (*add)(struct belfry_add *add);
	void (*claim)(struct belfry_claim *claim);
	void (*record)(struct belfry_record *record);
	void (*prune)(struct belfry_prune *prune);
	void (*list)(struct belfry_list *list);
	void (*document)(struct belfry_document *document);
	void (*query)(struct belfry_document_query *query);
	enum belfry_status status; /* not BELFRY_OK: what every method answers */
};

/* Takes `inner`; `spoil` is borrowed. NULL: no memory. */
struct belfry_store *liar_new(struct belfry_store *inner, const struct liar_spoil *spoil);

#endif
