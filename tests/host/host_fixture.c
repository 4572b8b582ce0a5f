/* The host of the tests. */
#include "host_fixture.h"

#include "base/json.h"
#include "store/memory/memory.h"

static void keep_line(void *data, enum bf_log_level level, const char *line)
{
	struct host_fixture *fixture = data;

	(void)level;
	(void)pthread_mutex_lock(&fixture->log_lock);
	bf_buf_appendf(&fixture->log, "%s\n", line);
	(void)pthread_mutex_unlock(&fixture->log_lock);
}

static belfry_time wall(void *data)
{
	const struct bf_env *env = bf_env_system();

	(void)data;
	return env->wall(env->data);
}

static struct bf_boot_time boot(void *data)
{
	const struct bf_env *env = bf_env_system();
	const struct host_fixture *fixture = data;

	return bf_boot_add(env->boot(env->data), fixture->boot_shift);
}

static void random_bytes(void *data, void *bytes, size_t len)
{
	const struct bf_env *env = bf_env_system();

	(void)data;
	env->random(env->data, bytes, len);
}

void host_fixture_begin(struct host_fixture *fixture)
{
	struct belfry_store *raw = NULL;
	struct belfry_error err = {0};

	memset(fixture, 0, sizeof(*fixture));
	assert_int_equal(pthread_mutex_init(&fixture->log_lock, NULL), 0);
	fixture->env = (struct bf_env){
			.data = fixture,
			.wall = wall,
			.boot = boot,
			.random = random_bytes,
			.log = keep_line,
	};
	bf_json_init();
	fake_provider_init(&fixture->fake);
	assert_int_equal(bf_memory_store_new(&fixture->env, false, &raw), BELFRY_OK);
	assert_int_equal(bf_store_wrap(&raw, &fixture->store, &err), BELFRY_OK);
	assert_int_equal(belfry_zones_new(NULL, &fixture->zones, &err), BELFRY_OK);
	bf_settings_init(&fixture->settings, 2);
}

void host_fixture_open(struct host_fixture *fixture)
{
	struct belfry_error err = {0};

	assert_int_equal(bf_scheduler_share(&fixture->fake.base, &fixture->scheduler, &err),
			BELFRY_OK);
	struct bf_host_options options = {
			.size = sizeof(options),
			.env = &fixture->env,
			.scheduler = fixture->scheduler,
			.store = fixture->store,
			.zones = fixture->zones,
			.webhook = fixture->webhook,
			.allow = fixture->allow,
			.exec = fixture->exec,
			.settings = &fixture->settings,
			.version = "0.1.0",
			.events = fixture->events,
	};

	assert_int_equal(bf_host_new(&options, &fixture->host, &err), BELFRY_OK);
	if (bf_host_start(fixture->host, &err) != BELFRY_OK) {
		fail_msg("%s (%s)", err.message, err.detail);
	}
}

void host_fixture_close(struct host_fixture *fixture)
{
	if (fixture->host != NULL) {
		assert_int_equal(bf_host_stop(fixture->host, NULL), BELFRY_OK);
	}
	bf_webhook_free(fixture->webhook);
	fixture->webhook = NULL;
	bf_host_free(fixture->host);
	fixture->host = NULL;
	belfry_scheduler_close(fixture->scheduler);
	fixture->scheduler = NULL;
}

void host_fixture_end(struct host_fixture *fixture)
{
	host_fixture_close(fixture);
	bf_events_free(fixture->events);
	bf_allow_list_free(fixture->allow);
	belfry_zones_free(fixture->zones);
	bf_store_close(fixture->store);
	fake_provider_fini(&fixture->fake);
	bf_buf_fini(&fixture->log);
	(void)pthread_mutex_destroy(&fixture->log_lock);
}

bool host_fixture_has_logged(struct host_fixture *fixture, const char *text)
{
	(void)pthread_mutex_lock(&fixture->log_lock);
	bool has = fixture->log.len > 0 && strstr(fixture->log.ptr, text) != NULL;
	(void)pthread_mutex_unlock(&fixture->log_lock);
	return has;
}
