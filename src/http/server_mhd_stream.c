/* The library's side of a streamed answer.
 *
 * The library asks for bytes when the socket takes them, again and again while it gets none: so a
 * connection without news is suspended from inside that question, under the lock that a wake-up takes
 * too (server_stream.c). One that waits for its client to read is not suspended, and has a deadline. */
#include "http/server_mhd_priv.h"

static ssize_t read_stream(void *data, uint64_t position, char *bytes, size_t size)
{
	struct bf_http_stream *stream = data;
	ssize_t got = 0;

	(void)position;
	(void)pthread_mutex_lock(&stream->lock); /* cannot fail on a plain mutex */
	if (stream->is_gone) {
		got = MHD_CONTENT_READER_END_WITH_ERROR;
	} else if (stream->is_ending) {
		got = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		got = (ssize_t)bf_http_stream_fill(stream, bytes, size);
		if (got == 0) {
			stream->is_asleep = true;
			MHD_suspend_connection(stream->transport);
		}
	}
	(void)pthread_mutex_unlock(&stream->lock);
	return got;
}

static void end_stream(void *data)
{
	bf_http_stream_end(data);
}

struct MHD_Response *bf_http_mhd_stream(struct bf_http_stream **stream)
{
	struct MHD_Response *out = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
			BF_HTTP_STREAM_BYTES, read_stream, *stream, end_stream);

	if (out != NULL) {
		*stream = NULL;
	}
	return out;
}
