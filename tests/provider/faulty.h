/* A store between the provider and another store, that fails when it is told to. */
#ifndef PROVIDER_FAULTY_H
#define PROVIDER_FAULTY_H

#include "store/store.h"

/* `inner` is borrowed until the answer is closed; its fault points are armed through the wrapper. */
struct belfry_store *faulty_new(struct bf_store *inner);
void faulty_free(struct belfry_store *store);

#endif
