/* The statement texts. The column lists are written once, and read in that order by rows.c. */
#include "store-sqlite/statements.h"

#include <belfry/run.h>

/* The numbers that the texts name. */
_Static_assert(BELFRY_RUN_QUEUED == 0 && BELFRY_RUN_DELAYED == 1 && BELFRY_RUN_DISPATCHING == 2 &&
				BELFRY_RUN_DISPATCHED == 3 && BELFRY_RUN_FAILED == 4 &&
				BELFRY_RUN_CANCELLED == 5,
		"states are stored");
_Static_assert(BELFRY_STATUS_QUEUED == 0 && BELFRY_STATUS_RUNNING == 1 &&
				BELFRY_STATUS_COMPLETED == 3 && BELFRY_STATUS_FAILED == 4 &&
				BELFRY_STATUS_CANCELLED == 5 && BELFRY_STATUS_UNKNOWN == 7,
		"statuses are stored; 3 and above are terminal");
_Static_assert(BELFRY_RUN_ERROR_SCHEDULE_DISABLED == 9, "errors are stored");
_Static_assert(BELFRY_TRIGGER_SCHEDULE == 0, "triggers are stored");

#define RUN_COLUMNS                                                                                \
	"r.id,s.id,r.trigger,r.state,r.status,r.flags,r.revision,r.due_at,r.ready_at,"             \
	"r.created_at,r.started_at,r.dispatched_at,r.finished_at,r.replayed_from,h.id,r.fence,"    \
	"r.attempt,r.failures,r.takeovers,r.stands_for,r.session,r.turn,r.error,r.message,"        \
	"r.detail,n.name"
#define CLAIMED_COLUMNS RUN_COLUMNS ",v.definition,v.payload_bytes,r.in_queue,r.holder"
#define REVISION_JOIN                                                                              \
	" LEFT JOIN schedule_revisions v ON v.schedule=r.schedule AND v.revision=r.revision"
#define RUN_JOINS                                                                                  \
	" LEFT JOIN schedules s ON s.key=r.schedule LEFT JOIN incarnations h ON h.key=r.holder"    \
	" LEFT JOIN names n ON n.key=r.tz"
#define SCHEDULE_COLUMNS                                                                           \
	"s.id,s.version,s.revision,s.flags,s.presence,s.phase,s.cursor,s.idle_since,"              \
	"s.fired_count,s.last_fire_at,v.payload_bytes,v.definition,v.fair_key,n.name,"             \
	"s.phase_reason,s.decided_due,s.decided_local,s.cursor_local"
#define SCHEDULE_JOINS                                                                             \
	" LEFT JOIN schedule_revisions v ON v.schedule=s.key AND v.revision=s.revision"            \
	" AND s.presence=0 LEFT JOIN names n ON n.key=s.tz"
#define INCARNATION_COLUMNS                                                                        \
	"id,beat,registered_at,covers_from,covered_until,ended_at,was_declared_dead,identity,"     \
	"version,tz_version"
#define DOCUMENT_COLUMNS "kind,id,owner,name,flags,etag,created_at,updated_at,bytes"
/* Bits of statuses and triggers asked for (0: all), and a lowest time. */
#define RUN_FILTER                                                                                 \
	" AND (?3=0 OR (?3>>r.status)&1) AND (?4=0 OR (?4>>r.trigger)&1)"                          \
	" AND (?5=0 OR iif(r.due_at<>0,r.due_at,r.created_at)>=?5)"

const char *const bf_statement_texts[BF_ST_COUNT] = {
#define STATEMENT(name, text) [BF_ST_##name] = (text),
#include "store-sqlite/statements.def"
#undef STATEMENT
};

const char *const bf_output_texts[BF_OUT_COUNT] = {
		[BF_OUT_PUT] = ("INSERT INTO outputs(run,content_type,bytes,fence,length)"
				" VALUES(?1,?2,?3,?4,?5) ON CONFLICT(run) DO UPDATE"
				" SET content_type=?2,bytes=?3,fence=?4,length=?5"),
		[BF_OUT_FIND] = ("SELECT key,content_type,length,fence,length(bytes) FROM outputs"
				 " WHERE run=?1"),
		[BF_OUT_CUT] = ("UPDATE outputs SET content_type=?2,fence=?3,length=?4+?5,"
				"bytes=iif(length(bytes)>?4,substr(bytes,1,?4),bytes) WHERE key=?1"),
		[BF_OUT_PIECE_PUT] = "INSERT INTO pieces(output,start,bytes) VALUES(?1,?2,?3)",
		[BF_OUT_PIECE_CUT] = ("UPDATE pieces SET bytes=substr(bytes,1,?2-start)"
				      " WHERE output=?1 AND start<?2 AND start+length(bytes)>?2"),
		[BF_OUT_PIECES_DROP] = "DELETE FROM pieces WHERE output=?1 AND start>=?2",
		[BF_OUT_PIECES_READ] = ("SELECT key,start,length(bytes) FROM pieces"
					" WHERE output=?1 AND start<?3 AND start+length(bytes)>?2"
					" AND start>=ifnull((SELECT max(start) FROM pieces"
					" WHERE output=?1 AND start<=?2),0) ORDER BY start"),
		[BF_OUT_PIECES_DELETE] = ("DELETE FROM pieces WHERE output="
					  "(SELECT key FROM outputs WHERE run=?1)"),
		[BF_OUT_DELETE] = "DELETE FROM outputs WHERE run=?1",
};
