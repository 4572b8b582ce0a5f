/* Fuzzes what the target `exec` reads back: an end, the document of a command, and a process's own line in
 * /proc. What is read is written again and reads the same. */
#include "base/json.h"
#include "fuzz.h"
#include "host/targets/exec_priv.h"

static void check_end(struct belfry_str text)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf again = {0};
	struct bf_exec_end end;
	struct bf_exec_end second;

	if (bf_exec_end_parse(text, &end) != BELFRY_OK) {
		return;
	}
	bf_exec_end_format(&end, &again);
	fuzz_require(bf_exec_end_parse(bf_buf_str(&again), &second) == BELFRY_OK);
	fuzz_require(second.how == end.how && second.by == end.by && second.code == end.code);
	fuzz_require(second.total == end.total && second.is_lost == end.is_lost);
}

static void check_note(struct belfry_str text)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf again = {0};
	struct bf_exec_note note;
	struct bf_exec_note second;

	if (bf_exec_note_parse(text, &arena, &note) != BELFRY_OK) {
		return;
	}
	fuzz_require(note.identity.pid > 1 && note.output_limit > 0);
	bf_exec_note_format(&note, &again);
	fuzz_require(bf_exec_note_parse(bf_buf_str(&again), &arena, &second) == BELFRY_OK);
	fuzz_require(second.fence == note.fence && second.attempt == note.attempt);
	fuzz_require(bf_str_equal(second.folder, note.folder));
	fuzz_require(strcmp(second.identity.boot, note.identity.boot) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct belfry_str text = {(const char *)data, size};
	uint64_t start_time;
	int64_t session;

	bf_json_init();
	check_end(text);
	check_note(text);
	if (bf_exec_stat_parse(text, &start_time, &session) == BELFRY_OK) {
		fuzz_require(session >= 0);
	}
	return 0;
}
