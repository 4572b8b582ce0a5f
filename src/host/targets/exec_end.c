/* How a command ended, as text between the supervisor and the host: small JSON. */
#include "base/json.h"
#include "host/targets/exec_supervisor.h"

#define END_BYTES_MAX 4096

static const char *const hows[] = {"exited", "signalled", "unstarted", NULL};
static const char *const bys[] = {"itself", "timeout", "stop", NULL};

void bf_exec_end_format(const struct bf_exec_end *end, struct bf_buf *out)
{
	bf_buf_appendf(out,
			"{\"how\":\"%s\",\"by\":\"%s\",\"code\":%d,\"total\":%llu,\"lost\":%s,"
			"\"cwd\":%s}\n",
			hows[end->how], bys[end->by], end->code, (unsigned long long)end->total,
			end->is_lost ? "true" : "false", end->is_cwd_failed ? "true" : "false");
}

enum belfry_status bf_exec_end_parse(struct belfry_str text, struct bf_exec_end *ret_end)
{
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;
	struct bf_json_reader reader;
	unsigned how = 0;
	unsigned by = 0;
	int64_t code = 0;
	int64_t total = 0;
	struct bf_exec_end end = {0};

	enum belfry_status status = bf_json_parse(text, END_BYTES_MAX, &object, NULL);
	if (status != BELFRY_OK) {
		return status == BELFRY_NOMEM ? status : BELFRY_CORRUPT;
	}
	bf_json_reader_begin(&reader, object, "", NULL);
	(void)bf_json_reader_enum(&reader, "how", BF_JSON_REQUIRED, hows, &how);
	(void)bf_json_reader_enum(&reader, "by", BF_JSON_REQUIRED, bys, &by);
	(void)bf_json_reader_int(&reader, "code", BF_JSON_REQUIRED, 0, 4096, &code);
	(void)bf_json_reader_int(&reader, "total", BF_JSON_REQUIRED, 0, INT64_MAX, &total);
	(void)bf_json_reader_bool(&reader, "lost", BF_JSON_REQUIRED, &end.is_lost);
	(void)bf_json_reader_bool(&reader, "cwd", BF_JSON_REQUIRED, &end.is_cwd_failed);
	status = bf_json_reader_end(&reader);
	if (status != BELFRY_OK) {
		return status == BELFRY_NOMEM ? status : BELFRY_CORRUPT;
	}
	end.how = (enum bf_exec_how)how;
	end.by = (enum bf_exec_by)by;
	end.code = (int)code;
	end.total = (uint64_t)total;
	*ret_end = end;
	return BELFRY_OK;
}
