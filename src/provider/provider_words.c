/* The words of a failure: a seam's own are for the operator's log, and whoever asked reads the public
 * sentence of the status (contract.md, T066). A refusal of the request keeps its words, which a provider
 * writes for people; texts that are none (not ended, not UTF-8) are dropped. */
#include "provider/provider_priv.h"

bool bf_provider_is_failure(enum belfry_status status)
{
	switch (belfry_status_class(status)) {
	case BELFRY_CLASS_RETRY:
	case BELFRY_CLASS_DATA:
	case BELFRY_CLASS_SYSTEM: return true;
	case BELFRY_CLASS_OK:
	case BELFRY_CLASS_CONFLICT:
	case BELFRY_CLASS_GONE:
	case BELFRY_CLASS_CALLER: break;
	}
	return false;
}

/* Ends each text inside its array, and empties one that is none. */
static void clean_texts(struct belfry_error *err)
{
	err->message[sizeof(err->message) - 1] = '\0';
	err->detail[sizeof(err->detail) - 1] = '\0';
	err->pointer[sizeof(err->pointer) - 1] = '\0';
	char *const texts[] = {err->message, err->detail, err->pointer};
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		if (!bf_str_is_utf8(bf_str(texts[i]))) {
			texts[i][0] = '\0';
		}
	}
	err->position = BF_MAX(err->position, 0);
}

enum belfry_status bf_provider_settle(enum belfry_status status, struct belfry_error *err)
{
	if (status == BELFRY_OK || err == NULL) {
		return status;
	}
	err->status = status;
	clean_texts(err);
	if (bf_provider_is_failure(status)) {
		if (err->detail[0] == '\0') {
			memcpy(err->detail, err->message, sizeof(err->detail));
		}
		err->message[0] = '\0';
		err->pointer[0] = '\0';
		err->position = 0;
	}
	if (err->message[0] == '\0') {
		struct belfry_str text = bf_str(belfry_status_text(status));
		memcpy(err->message, text.ptr, BF_MIN(text.len + 1, sizeof(err->message)));
	}
	return status;
}

#define OR_ELSE "; or " BF_PROVIDER_REMEDY

void bf_provider_add_remedy(struct belfry_error *err)
{
	if (err == NULL) {
		return;
	}
	/* The remedies are what must not be cut off. */
	size_t len = BF_MIN(strlen(err->message), sizeof(err->message) - sizeof(OR_ELSE));
	while (len > 0 && ((unsigned char)err->message[len] & 0xc0) == 0x80) {
		len--; /* inside a character */
	}
	memcpy(err->message + len, OR_ELSE, sizeof(OR_ELSE));
}
