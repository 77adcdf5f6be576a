/* The last part of a process's end. What it counted is closed under the lock, with signals blocked; here it is brought to the spool without either,
 * since a file system may keep us waiting, and for no longer than SLICEWISE_EXIT_WAIT. What cannot be brought stays in the segment for whoever comes next. */
#include "adopt.h"
#include "async_drain.h"
#include "job_page.h"
#include "keep.h"
#include "record.h"
#include "spool.h"
#include "state.h"

/* Counts in private memory are lost; a segment stays, unless there is little in it or there are too many (keep.h). */
static void leave_counts(int error)
{
    static char path[1100];
    const struct segment *segment = engine.home.segment;
    spool_path(path, sizeof path, segment);
    if (engine.home.place == PLACE_private) {
        if (keep_is_worth(segment))
            job_page_note(engine.settings.segment_dir, engine.job, JOB_NOTE_lost);
        engine_say("slicewise: %s: cannot write the profile (%s), and it is lost\n", path, spool_words(error), "");
    } else if (keep_own_segment(&engine.home)) {
        engine_say("slicewise: %s: cannot write the profile (%s); its counts are kept in %s: mend that, then run `slicewise recover`\n", path,
                   spool_words(error), engine.home.path);
    } else {
        engine_say("slicewise: %s: cannot write the profile (%s), and its counts are not kept: %s\n", path, spool_words(error),
                   keep_is_worth(segment) ? "the node has as many as it keeps" : "there is little in them");
    }
}

/* A collector comes soon, and whoever comes by if it does not: the process need not wait for the spool. */
static bool is_left_to_collector(void)
{
    return engine.home.place != PLACE_private && adopt_is_promised(atomic_load(&engine.home.segment->collector_until_ns));
}

/* Shared memory has no room for what is to be packed. A copy in private memory is finished, and if we die meanwhile the segment is as it was. */
static int finish_copy(enum ending ending, uint64_t end_ns)
{
    int fd = raw_open(engine.home.path, O_RDONLY | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    struct segment_home copy = { .place = PLACE_private, .segment = adopt_copy(fd) };
    raw_close(fd);
    if (copy.segment == NULL)
        return -ENOMEM;
    int finished = segment_finish(&copy, ending, end_ns, 0);
    adopt_drop_copy(copy.segment);
    return finished;
}

static int close_segment(enum ending ending, uint64_t end_ns)
{
    struct held_lock held = lock_take(&engine.lock);
    int closed = segment_close(&engine.home, ending, end_ns, 0);
    lock_give(held);
    return closed;
}

/* Returns 0 if nothing is left in the segment. */
static int bring(enum ending ending, uint64_t end_ns, int closed)
{
    int drained = async_drain_last();
    if (closed != -ENOBUFS || drained < 0)
        return closed < 0 ? closed : drained;
    closed = close_segment(ending, end_ns); /* in the room that there is now */
    if (closed == -ENOBUFS)
        return finish_copy(ending, end_ns);
    return closed < 0 ? closed : async_drain_last();
}

bool ending_bring_home(enum ending ending, uint64_t end_ns, int closed)
{
    struct segment *segment = engine.home.segment;
    /* Nobody changes the segment any more, and a signal may end the process: then whoever finds the segment finishes it. */
    async_drain_begin_end();
    if (closed == 0 && is_left_to_collector()) {
        notice_problems_of_store();
        return true;
    }
    int error = bring(ending, end_ns, closed);
    notice_problems_of_store();
    if (error < 0) {
        segment_count_problem(segment, PROBLEM_spool_failed);
        leave_counts(error);
        return false;
    }
    atomic_store(&segment->state, SEGMENT_DONE);
    if (engine.home.place != PLACE_private)
        raw_unlink(engine.home.path);
    return true;
}
