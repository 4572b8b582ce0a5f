/* The statuses, from status.def. */
#include <belfry/status.h>

#include "base/compiler.h"

struct status_entry {
	const char *name;
	enum belfry_class class_;
	int http;
	int exit_status;
	const char *code;
	const char *text;
};

static const struct status_entry status_entries[] = {
#define BELFRY_STATUS(name, class_, http, exit_, code, text)                                       \
	{#name, BELFRY_CLASS_##class_, http, exit_, code, text},
#include <belfry/status.def>
#undef BELFRY_STATUS
};

static const struct status_entry *find_entry(enum belfry_status status)
{
	size_t index = (size_t)status;

	return &status_entries[index < BF_COUNT(status_entries) ? index : BELFRY_INTERNAL];
}

const char *belfry_status_name(enum belfry_status status)
{
	return find_entry(status)->name;
}

const char *belfry_status_code(enum belfry_status status)
{
	return find_entry(status)->code;
}

const char *belfry_status_text(enum belfry_status status)
{
	return find_entry(status)->text;
}

enum belfry_class belfry_status_class(enum belfry_status status)
{
	return find_entry(status)->class_;
}

int belfry_status_http(enum belfry_status status)
{
	return find_entry(status)->http;
}

int belfry_status_exit(enum belfry_status status)
{
	return find_entry(status)->exit_status;
}
