/* Text that may be JSON or YAML, read as either. */
#ifndef BF_CLI_DOCUMENT_H
#define BF_CLI_DOCUMENT_H

#include "cli/yaml.h"

#define BF_DOCUMENT_BYTES (256u << 20)

/* JSON where the file's name says so, or where it is JSON; else YAML. JSON is one document, and knows no
 * lines. BELFRY_OK; BELFRY_INVALID with line and column in err->message; BELFRY_NOMEM. Emptied by
 * bf_yaml_fini. */
BF_MUST_CHECK enum belfry_status bf_document_parse(const char *file, struct belfry_str text,
		struct bf_yaml *ret_yaml, struct belfry_error *err);

#endif
