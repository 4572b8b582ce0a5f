/* What is built in, by name: the one place of the library that names stores and providers. */
#include "base/error.h"
#include "base/str.h"
#include "provider/provider.h"
#include "store-sqlite/sqlite.h"
#include "store/memory/memory.h"

enum belfry_status bf_provider_find(struct belfry_str name,
		const struct belfry_provider_ops **ret_ops, struct belfry_error *err)
{
	const struct belfry_provider_ops *all[] = {&bf_embedded_provider_ops,
			&bf_none_provider_ops};

	for (size_t i = 0; i < BF_COUNT(all); i++) {
		if (bf_str_equal(name, bf_str(all[i]->name))) {
			*ret_ops = all[i];
			return bf_provider_check_ops(*ret_ops, err);
		}
	}
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"there is no scheduler provider \"%.*s\": choose \"embedded\", or \"none\" to run "
			"without schedules",
			BF_STR_ARGS(bf_str_slice(name, 0, 40)));
}

enum belfry_status bf_store_ops_find(struct belfry_str url, const struct belfry_store_ops **ret_ops,
		struct belfry_error *err)
{
	static const struct {
		const char *scheme;
		const char *name;
	} later[] = {
			{"postgresql:", "PostgreSQL"},
			{"postgres:", "PostgreSQL"},
			{"mongodb:", "MongoDB"},
			{"mongodb+srv:", "MongoDB"},
	};

	if (bf_str_starts_with(url, BF_STR("sqlite:"))) {
		*ret_ops = &bf_sqlite_store_ops;
		return BELFRY_OK;
	}
	if (bf_str_starts_with(url, BF_STR("memory:"))) {
		*ret_ops = &bf_memory_store_ops;
		return BELFRY_OK;
	}
	for (size_t i = 0; i < BF_COUNT(later); i++) {
		if (bf_str_starts_with(url, bf_str(later[i].scheme))) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"this version does not offer %s yet: use sqlite:PATH",
					later[i].name);
		}
	}
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"this version knows no such store: use sqlite:PATH or memory:");
}
