/* The OpenAPI document of the API, docs/openapi.json, as it was when this was built. */
#ifndef BF_HTTP_OPENAPI_H
#define BF_HTTP_OPENAPI_H

#include <stddef.h>

/* JSON of bf_openapi_len bytes, without a NUL behind. */
extern const char bf_openapi[];
extern const size_t bf_openapi_len;

#endif
