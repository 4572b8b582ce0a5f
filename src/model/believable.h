/* Can a value that came from outside be? Asked by the wrappers of both seams of what a store or a provider
 * has answered: ranges, texts that point somewhere, states that go together. Nothing is repaired here. */
#ifndef BF_MODEL_BELIEVABLE_H
#define BF_MODEL_BELIEVABLE_H

#include <belfry/run.h>

/* Empty, or pointing somewhere. */
bool bf_text_is_believable(struct belfry_str text);
bool bf_run_is_believable(const struct belfry_run *run);
/* The Run that it is of is the caller's to compare. */
bool bf_attempt_is_believable(const struct belfry_attempt *attempt);
bool bf_gap_is_believable(const struct belfry_gap *gap);

#endif
