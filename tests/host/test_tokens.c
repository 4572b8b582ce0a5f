/* Tokens: made when they are needed and never otherwise, known by their hash alone, kept in a file that
 * nobody else reads, and gone when they were renewed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nftw */
#endif
#include "host_cases.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/id.h"
#include "host/token_file.h"
#include "host/tokens.h"

struct place {
	struct host_fixture host; /* its store */
	char folder[64];
	char file[96];
};

static void open_place(struct place *place)
{
	host_fixture_begin(&place->host);
	(void)snprintf(place->folder, sizeof(place->folder), "/tmp/belfry-tokens-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	(void)snprintf(place->file, sizeof(place->file), "%s/admin.token", place->folder);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void close_place(struct place *place)
{
	assert_int_equal(nftw(place->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
	host_fixture_end(&place->host);
}

static enum belfry_status try_open(struct place *place, bool is_needed, bool is_renewed,
		struct bf_tokens **ret_tokens, struct belfry_error *err)
{
	struct bf_tokens_options options = {
			.size = sizeof(options),
			.env = &place->host.env,
			.store = place->host.store,
			.data_folder = place->folder,
			.is_needed = is_needed,
			.is_renewed = is_renewed,
	};

	return bf_tokens_open(&options, ret_tokens, err);
}

static struct bf_tokens *open_tokens(struct place *place, bool is_needed, bool is_renewed,
		enum bf_tokens_news news)
{
	struct bf_tokens *tokens = NULL;
	struct belfry_error err = {0};

	if (try_open(place, is_needed, is_renewed, &tokens, &err) != BELFRY_OK) {
		fail_msg("%s (%s)", err.message, err.detail);
	}
	assert_int_equal(bf_tokens_news(tokens), news);
	return tokens;
}

static void expect_refusal(struct place *place, const char *words)
{
	struct bf_tokens *tokens = NULL;
	struct belfry_error err = {0};

	assert_int_equal(try_open(place, true, false, &tokens, &err), BELFRY_CONFIGURATION);
	assert_null(tokens);
	if (strstr(err.message, words) == NULL || strstr(err.message, place->file) == NULL) {
		fail_msg("\"%s\" is not in \"%s\"", words, err.message);
	}
}

/* The file's text, without its newline. */
static void read_file(const struct place *place, char *ret_text)
{
	FILE *file = fopen(place->file, "re");

	assert_non_null(file);
	assert_int_equal(fread(ret_text, 1, BF_TOKEN_TEXT_BYTES + 1, file),
			BF_TOKEN_TEXT_BYTES + 1);
	assert_int_equal(fgetc(file), EOF);
	assert_int_equal(ret_text[BF_TOKEN_TEXT_BYTES], '\n');
	ret_text[BF_TOKEN_TEXT_BYTES] = '\0';
	(void)fclose(file);
}

static void write_file(const struct place *place, const char *text, mode_t mode)
{
	int fd = open(place->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	(void)close(fd);
}

static bool is_known(const struct bf_tokens *tokens, const char *text)
{
	return !bf_id_is_zero(bf_tokens_find(tokens, bf_str(text)));
}

static size_t count_files(const struct place *place)
{
	char command[128];
	char line[256];
	size_t count = 0;

	(void)snprintf(command, sizeof(command), "ls -A %s", place->folder);
	FILE *list = popen(command, "re");
	assert_non_null(list);
	while (fgets(line, sizeof(line), list) != NULL) {
		count++;
	}
	(void)pclose(list);
	return count;
}

static void without_need_there_is_no_token(void **state)
{
	struct place place;

	(void)state;
	open_place(&place);
	struct bf_tokens *tokens = open_tokens(&place, false, false, BF_TOKENS_NONE);
	assert_false(bf_tokens_are_needed(tokens));
	assert_false(bf_tokens_are_needed(NULL));
	assert_int_equal(count_files(&place), 0);
	bf_tokens_close(tokens);
	bf_tokens_close(NULL);
	close_place(&place);
}

static void b15_the_first_token_is_made_once_and_needed_for_good(void **state)
{
	char text[BF_TOKEN_TEXT_BYTES + 1];
	char again[BF_TOKEN_TEXT_BYTES + 1];
	struct stat info;
	struct place place;

	(void)state;
	open_place(&place);
	struct bf_tokens *tokens = open_tokens(&place, true, false, BF_TOKENS_MADE);
	assert_true(bf_tokens_are_needed(tokens));
	assert_int_equal(lstat(place.file, &info), 0);
	assert_int_equal(info.st_mode & 07777, 0600);
	assert_true(S_ISREG(info.st_mode));
	assert_int_equal(count_files(&place), 1);
	read_file(&place, text);
	assert_true(bf_token_is_formed(bf_str(text)));
	assert_true(is_known(tokens, text));
	bf_tokens_close(tokens);
	/* Whatever a later start asks for. */
	for (int is_needed = 0; is_needed < 2; is_needed++) {
		tokens = open_tokens(&place, is_needed == 1, false, BF_TOKENS_KEPT);
		assert_true(bf_tokens_are_needed(tokens));
		assert_true(is_known(tokens, text));
		bf_tokens_close(tokens);
	}
	read_file(&place, again);
	assert_string_equal(text, again);
	/* The file may go. */
	assert_int_equal(unlink(place.file), 0);
	tokens = open_tokens(&place, true, false, BF_TOKENS_HIDDEN);
	assert_true(is_known(tokens, text));
	assert_int_equal(count_files(&place), 0);
	bf_tokens_close(tokens);
	close_place(&place);
}

static void b15_nothing_but_the_token_is_known(void **state)
{
	char text[BF_TOKEN_TEXT_BYTES + 1];
	struct place place;

	(void)state;
	open_place(&place);
	struct bf_tokens *tokens = open_tokens(&place, true, false, BF_TOKENS_MADE);
	read_file(&place, text);
	assert_false(is_known(tokens, ""));
	assert_true(bf_id_is_zero(bf_tokens_find(tokens, (struct belfry_str){0})));
	for (size_t i = 0; i < BF_TOKEN_TEXT_BYTES; i++) {
		char kept = text[i];
		text[i] = kept == 'x' ? 'y' : 'x';
		assert_false(is_known(tokens, text));
		text[i] = '\0';
		assert_false(is_known(tokens, text));
		text[i] = kept;
	}
	assert_true(is_known(tokens, text));
	bf_tokens_close(tokens);
	close_place(&place);
}

/* Neither text nor a part of it is in the store: the hash alone is. */
static void b15_the_store_holds_no_token(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query query = {.size = sizeof(query), .kind = BF_STR("token")};
	char text[BF_TOKEN_TEXT_BYTES + 1];
	struct belfry_error err;
	struct place place;

	(void)state;
	open_place(&place);
	bf_tokens_close(open_tokens(&place, true, false, BF_TOKENS_MADE));
	read_file(&place, text);
	query.limit = 10;
	assert_int_equal(bf_store_document_list(place.host.store, &query, &arena, &err), BELFRY_OK);
	assert_int_equal(query.count, 1);
	const struct belfry_document *document = &query.documents[0];
	assert_true(bf_str_equal(document->name, BF_STR("admin")));
	assert_true(document->created_at > 0);
	BF_CLEANUP(bf_free_pointer) char *bytes = bf_str_dup(document->bytes);
	assert_non_null(bytes);
	assert_non_null(strstr(bytes, "\"role\":\"admin\""));
	assert_null(strstr(bytes, text + sizeof(BF_TOKEN_PREFIX) - 1));
	assert_null(strstr(bytes, BF_TOKEN_PREFIX));
	assert_false(host_fixture_has_logged(&place.host, BF_TOKEN_PREFIX));
	close_place(&place);
}

static void a_lost_token_is_renewed_and_the_old_one_ends(void **state)
{
	char old[BF_TOKEN_TEXT_BYTES + 1];
	char text[BF_TOKEN_TEXT_BYTES + 1];
	struct place place;

	(void)state;
	open_place(&place);
	bf_tokens_close(open_tokens(&place, true, false, BF_TOKENS_MADE));
	read_file(&place, old);
	/* While the file is there the flag changes nothing: it may stay in a unit. */
	bf_tokens_close(open_tokens(&place, false, true, BF_TOKENS_KEPT));
	assert_int_equal(unlink(place.file), 0);
	struct bf_tokens *tokens = open_tokens(&place, false, true, BF_TOKENS_MADE);
	read_file(&place, text);
	assert_string_not_equal(old, text);
	assert_true(is_known(tokens, text));
	assert_false(is_known(tokens, old));
	bf_tokens_close(tokens);
	tokens = open_tokens(&place, false, false, BF_TOKENS_KEPT);
	assert_true(is_known(tokens, text));
	assert_false(is_known(tokens, old));
	bf_tokens_close(tokens);
	close_place(&place);
}

/* A start that died behind the file and before the store: the next one finishes it. */
static void a_file_that_nobody_knows_is_taken_by_the_start_that_asks(void **state)
{
	static const char text[] = "belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF_";
	struct place place;

	(void)state;
	open_place(&place);
	write_file(&place, text, 0600);
	bf_tokens_close(open_tokens(&place, false, false, BF_TOKENS_NONE));
	struct bf_tokens *tokens = open_tokens(&place, true, false, BF_TOKENS_MADE);
	assert_true(is_known(tokens, text));
	bf_tokens_close(tokens);
	write_file(&place, "belfry_-123456789abcdefghijklmnopqrstuvwxyzABCDEF_\n", 0600);
	tokens = open_tokens(&place, true, false, BF_TOKENS_FOREIGN);
	assert_true(is_known(tokens, text));
	bf_tokens_close(tokens);
	tokens = open_tokens(&place, true, true, BF_TOKENS_MADE);
	assert_false(is_known(tokens, text));
	bf_tokens_close(tokens);
	close_place(&place);
}

static void a_file_that_is_not_ours_alone_is_refused_with_its_remedy(void **state)
{
	static const char text[] = "belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF_\n";
	char target[160];
	struct place place;

	(void)state;
	open_place(&place);
	static const mode_t wide[] = {0640, 0604, 0620, 0602, 0610, 0601, 0666, 04644};
	for (size_t i = 0; i < BF_COUNT(wide); i++) {
		write_file(&place, text, wide[i]);
		expect_refusal(&place, "chmod 600");
	}
	assert_int_equal(unlink(place.file), 0);
	(void)snprintf(target, sizeof(target), "%s/elsewhere", place.folder);
	assert_int_equal(symlink(target, place.file), 0);
	expect_refusal(&place, "symbolic link");
	assert_int_equal(access(target, F_OK), -1); /* nor written through it */
	struct bf_token_text made = {"belfry_"};
	struct belfry_error err;
	assert_int_equal(bf_token_file_write(place.folder, &made, &err), BELFRY_CONFIGURATION);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(unlink(place.file), 0);
	assert_int_equal(mkdir(place.file, 0700), 0);
	expect_refusal(&place, "no plain file");
	assert_int_equal(rmdir(place.file), 0);
	assert_int_equal(mkfifo(place.file, 0600), 0);
	expect_refusal(&place, "no plain file");
	assert_int_equal(unlink(place.file), 0);
	static const char *const wrong[] = {"", "\n", "password\n",
			"belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF\n",
			"belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF__\n",
			"belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF+\n",
			"belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF_\n\n",
			"Belfry_0123456789abcdefghijklmnopqrstuvwxyzABCDEF_\n"};
	for (size_t i = 0; i < BF_COUNT(wrong); i++) {
		write_file(&place, wrong[i], 0600);
		expect_refusal(&place, "no token of ours");
	}
	if (geteuid() == 0) {
		write_file(&place, text, 0600);
		assert_int_equal(chown(place.file, 12345, 12345), 0);
		expect_refusal(&place, "belongs to another user");
	}
	close_place(&place);
}

static void a_token_that_cannot_be_read_back_lets_nobody_in(void **state)
{
	static const char *const wrong[] = {"", "x", "{}", "{\"role\":\"admin\"}",
			"{\"role\":\"admin\",\"sha256\":\"AAAA\"}",
			"{\"role\":\"viewer\",\"sha256\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(wrong); i++) {
		struct belfry_document document = {.kind = BF_STR("token"),
				.id = BF_STR("00000000-0000-4000-8000-000000000000"),
				.bytes = bf_str(wrong[i])};
		struct bf_tokens *tokens = NULL;
		struct belfry_error err = {0};
		struct place place;
		open_place(&place);
		assert_int_equal(bf_store_document_put(place.host.store, &document, 0, &err),
				BELFRY_OK);
		assert_int_equal(try_open(&place, false, false, &tokens, &err), BELFRY_CORRUPT);
		assert_null(tokens);
		close_place(&place);
	}
}

static void refusals_are_logged_at_most_once_a_second(void **state)
{
	struct place place;
	size_t lines = 0;

	(void)state;
	open_place(&place);
	struct bf_tokens *tokens = open_tokens(&place, true, false, BF_TOKENS_MADE);
	struct bf_boot_time begin = place.host.env.boot(place.host.env.data);
	for (int i = 0; i < 10000; i++) {
		bf_tokens_note_refusal(tokens, BF_STR("192.0.2.1"));
	}
	belfry_duration took = bf_boot_since(place.host.env.boot(place.host.env.data), begin);
	assert_true(host_fixture_has_logged(&place.host,
			"event=token_refused count=1 peer=192.0.2.1"));
	for (const char *at = place.host.log.ptr; (at = strstr(at, "token_refused")) != NULL;
			at++) {
		lines++;
	}
	assert_true(lines <= 1 + (size_t)(took / BELFRY_SECOND));
	bf_tokens_close(tokens);
	close_place(&place);
}

/* Fails allocation 1, 2, 3, ...: nothing leaks, and a file is whole or not there. */
static void every_lack_of_memory_is_borne(void **state)
{
	(void)state;
	for (int64_t call = 1; call < 2000; call++) {
		struct bf_tokens *tokens = NULL;
		struct belfry_error err = {0};
		char text[BF_TOKEN_TEXT_BYTES + 1];
		struct place place;
		open_place(&place);
		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = try_open(&place, true, false, &tokens, &err);
		bool has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || (has_fired && status != BELFRY_OK));
		bf_tokens_close(tokens);
		/* The next start finds its way. */
		assert_int_equal(try_open(&place, true, false, &tokens, &err), BELFRY_OK);
		read_file(&place, text);
		assert_true(is_known(tokens, text));
		bf_tokens_close(tokens);
		close_place(&place);
		if (!has_fired) {
			return;
		}
	}
	fail_msg("the sweep did not end");
}

int run_token_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(without_need_there_is_no_token),
			cmocka_unit_test(b15_the_first_token_is_made_once_and_needed_for_good),
			cmocka_unit_test(b15_nothing_but_the_token_is_known),
			cmocka_unit_test(b15_the_store_holds_no_token),
			cmocka_unit_test(a_lost_token_is_renewed_and_the_old_one_ends),
			cmocka_unit_test(a_file_that_nobody_knows_is_taken_by_the_start_that_asks),
			cmocka_unit_test(a_file_that_is_not_ours_alone_is_refused_with_its_remedy),
			cmocka_unit_test(a_token_that_cannot_be_read_back_lets_nobody_in),
			cmocka_unit_test(refusals_are_logged_at_most_once_a_second),
			cmocka_unit_test(every_lack_of_memory_is_borne),
	};

	return cmocka_run_group_tests_name("tokens", tests, NULL, NULL);
}
