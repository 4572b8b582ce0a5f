/* Binds the conformance suite to the one-file store. Usage: test-store-sqlite-conformance [PREFIX].
 * Prints TAP. One process owns the file, so there is no second handle to share. */
#include "conformance/store.h"

#include "fixture.h"

static struct place place;
static bool has_place;

static void forget_place(void)
{
	if (has_place) {
		place_fini(&place);
	}
	has_place = false;
}

static enum belfry_status open_fresh(void *data, struct belfry_store **ret_store)
{
	(void)data;
	forget_place();
	place_init(&place, true);
	has_place = true;
	return try_open_migrated(&place, ret_store, NULL);
}

static enum belfry_status reopen(void *data, struct belfry_store **store)
{
	(void)data;
	close_store(*store);
	*store = NULL;
	return try_open_migrated(&place, store, NULL);
}

static void move_clock(void *data, belfry_duration step)
{
	(void)data;
	clock_move(step);
}

int main(int argc, char **argv)
{
	const struct belfry_store_fixture fixture = {
			.open = open_fresh,
			.reopen = reopen,
			.move_clock = move_clock,
	};
	unsigned failed = belfry_conformance_store_run(&fixture, argc > 1 ? argv[1] : NULL);

	forget_place();
	return failed > 0 ? 1 : 0;
}
