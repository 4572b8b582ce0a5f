/* Between the files that know the library. All of it runs in the library's threads. */
#ifndef BF_HTTP_SERVER_MHD_PRIV_H
#define BF_HTTP_SERVER_MHD_PRIV_H

#include <microhttpd.h>

#include "base/compiler.h"

#include "http/server_priv.h"

/* Sends `response`, taken. MHD_NO closes the connection: there was no memory for an answer. */
BF_MUST_CHECK enum MHD_Result bf_http_mhd_send(struct bf_http_request *request,
		struct MHD_Connection *mhd, struct bf_http_response *response);
/* Answers before anything more is read, and closes. */
BF_MUST_CHECK enum MHD_Result bf_http_mhd_refuse(struct bf_http_request *request,
		struct MHD_Connection *mhd, const struct belfry_error *err);
/* Writes the refusal past the library, where nothing else is being written on this connection; the
 * caller sees to its end. */
void bf_http_mhd_write_refusal(struct bf_http_request *request, const struct belfry_error *err);
/* The same in the middle of a body, where the library takes no answer: nothing else is being written on
 * this connection, so the answer is written past it, and MHD_NO (always) makes it close. Over TLS it
 * would have to go through the session. */
BF_MUST_CHECK enum MHD_Result bf_http_mhd_refuse_midway(struct bf_http_request *request,
		const struct belfry_error *err);

/* server_mhd_stream.c: a body that is read from the stream, which is taken. NULL: no memory, and nothing
 * is taken. */
BF_MUST_CHECK struct MHD_Response *bf_http_mhd_stream(struct bf_http_stream **stream);

#endif
