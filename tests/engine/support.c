/* See support.h. */
#include "support.h"

static struct belfry_zones *shared;

belfry_time at_time(int h, int m, int s)
{
	return DAY0 + h * BELFRY_HOUR + m * BELFRY_MINUTE + s * BELFRY_SECOND;
}

struct belfry_id id_of(unsigned n)
{
	return (struct belfry_id){{0x10, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0,
			(unsigned char)(n >> 8), (unsigned char)n}};
}

struct bf_boot_time boot(int64_t us)
{
	return (struct bf_boot_time){us};
}

struct belfry_zones *zones(void)
{
	if (shared == NULL) {
		assert_int_equal(belfry_zones_new(NULL, &shared, NULL), BELFRY_OK);
	}
	return shared;
}

void zones_free(void)
{
	belfry_zones_free(shared);
	shared = NULL;
}

struct belfry_rule *rule_of(const char *cron)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule = NULL;

	assert_int_equal(belfry_rule_new(zones(), bf_str(cron), BF_STR("UTC"), &options, &rule,
					 NULL),
			BELFRY_OK);
	return rule;
}

struct bf_buf definition_of(const char *cron, const struct belfry_policies *policies)
{
	static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;
	struct bf_buf bytes = {0};
	struct bf_definition d = {.flags = BELFRY_SCHEDULE_F_ENABLED,
			.anchor = DAY0,
			.rule = bf_str(cron),
			.zone = BF_STR("UTC"),
			.policies = policies != NULL ? *policies : defaults};

	bf_definition_encode(&d, &bytes);
	assert_int_equal(bf_buf_status(&bytes), BELFRY_OK);
	return bytes;
}
