#include "async_drain.h"

#include "adopt.h"
#include "drain_helper.h"
#include "identity.h"
#include "job_page.h"
#include "local.h"
#include "record.h"
#include "state.h"

#include <string.h>

#define REST_NS NS_PER_SECOND /* after a drain helper that failed */
#define FULL_WAIT_NS NS_PER_SECOND

static START_DATA struct {
    struct drain_helper *helper; /* under way; the lock's holder alone looks into it */
    _Atomic uint32_t task; /* not 0 until it has ended */
    uint64_t wait_until_ns; /* until then a program that closes records faster than they are taken waits for it */
    uint64_t rest_until_ns;
    uint64_t end_ns;       /* until then an exit may wait; 0: it is no exit */
} async_drain;

/* Another process's spool that is not ours as well is nothing to wait for: it may be why that process is dead. */
static bool may_wait_for(const struct segment *segment)
{
    return async_drain.end_ns != 0 && strcmp(segment->spool_dir, identity_spool_dir()) == 0;
}

/* What the job's processes know of a spool that may not answer: whoever has waited for it in vain spares the others the same. */
struct knowledge {
    struct job_page *page;
    const char *spool_dir;
    enum spool_silence silence;
};

static struct knowledge know(const struct segment *segment)
{
    struct job_page *page = job_page_open(engine.settings.segment_dir, engine.job, false);
    return (struct knowledge){ page, segment->spool_dir, job_page_silence(page, segment->spool_dir, engine.settings.exit_ns) };
}

static void note_answer(struct knowledge *known, bool has_answered)
{
    if (has_answered && known->page != NULL)
        job_page_answers(known->page, known->spool_dir);
    if (!has_answered && known->page == NULL)
        known->page = job_page_open(engine.settings.segment_dir, engine.job, true);
    if (!has_answered)
        job_page_is_silent(known->page, known->spool_dir, engine.settings.exit_ns, known->silence == SPOOL_ASKED_AGAIN);
}

/* Waits for a drain helper until then, unless it is known to be in vain. Returns whether it is over; else it is given up. */
static bool see_through(struct drain_helper *helper, const _Atomic uint32_t *task, uint64_t until_ns, struct knowledge *known)
{
    bool is_over = known->silence == SPOOL_SILENT ? atomic_load(task) == 0 : drain_helper_wait(task, until_ns);
    if (is_over || known->silence != SPOOL_SILENT)
        note_answer(known, is_over);
    if (!is_over)
        drain_helper_abandon(helper);
    return is_over;
}

static int append_and_wait(struct segment *segment, const void *frames, size_t bytes, struct knowledge *known)
{
    static _Atomic uint32_t task;
    int wrong;
    if (known->silence == SPOOL_SILENT)
        return -SPOOL_LATE;
    struct drain_helper *helper = drain_helper_begin(segment, frames, bytes, &task, &wrong);
    if (helper == NULL)
        return wrong < 0 ? wrong : spool_append_ourselves(segment, frames, bytes, NULL);
    return see_through(helper, &task, async_drain.end_ns, known) ? drain_helper_settle(helper, segment) : -SPOOL_LATE;
}

static int append(struct segment *segment, const void *frames, size_t bytes)
{
    if (strchr(segment->spool_dir, '/') == NULL) /* no spool at all: it says why */
        return spool_append_ourselves(segment, frames, bytes, NULL);
    int profiles = local_open_profiles(segment, segment == engine.home.segment);
    if (profiles >= 0) {
        int appended = spool_append_ourselves(segment, frames, bytes, &profiles);
        raw_close(profiles);
        if (appended != -EMFILE) /* the program has nearly all that it may have; the process beside us has none */
            return appended;
    }
    if (!may_wait_for(segment) || clock_read(CLOCK_MONOTONIC) >= async_drain.end_ns)
        return -SPOOL_UNASKED;
    struct knowledge known = know(segment);
    int appended = append_and_wait(segment, frames, bytes, &known);
    job_page_close(known.page);
    return appended;
}

void async_drain_start(void)
{
    spool_carrier = append;
    adopt_may_drop = true;
}

bool async_drain_is_due(void)
{
    const struct segment_home *home = &engine.home;
    if (home->segment == NULL)
        return false;
    union commit commit = { .word = atomic_load_explicit(&home->segment->commit, memory_order_relaxed) };
    return async_drain.helper != NULL ||
           (home->is_drained_apart && (commit.frame_bytes > FRAMES_DUE_BYTES || (home->is_short && commit.frame_bytes > 0)));
}

/* Caller holds the lock. */
static bool is_nearly_full(void)
{
    union commit commit = { .word = atomic_load(&engine.home.segment->commit) };
    return commit.frame_bytes > (engine.home.is_short ? FRAMES_KEPT_BYTES : FRAMES_BYTES) / 4 * 3;
}

/* Frames that are in the spool make room as soon as all are. Caller holds the lock. */
static void note_drained(struct segment *segment, uint32_t until_frame)
{
    union commit commit = { .word = atomic_load(&segment->commit) };
    if (until_frame > collected_frames(segment)) /* else a collector was faster */
        atomic_store(&segment->collected, collected_pack(until_frame));
    if (collected_frames(segment) != commit.next_frame)
        return;
    commit.frame_bytes = 0;
    atomic_store(&segment->commit, commit.word);
}

/* Caller holds the lock, and the drain helper is over. */
static int settle(void)
{
    struct drain_helper *helper = async_drain.helper;
    uint32_t until_frame = helper->until_frame;
    async_drain.helper = NULL;
    int result = drain_helper_settle(helper, engine.home.segment);
    if (result == 0)
        note_drained(engine.home.segment, until_frame);
    else
        async_drain.rest_until_ns = clock_read(CLOCK_MONOTONIC) + REST_NS;
    return result;
}

/* Where no process can be had beside us: in the program's own time. */
static void drain_ourselves(void)
{
    static _Atomic bool is_under_way;
    struct segment *segment = engine.home.segment;
    union commit commit = { .word = atomic_load(&segment->commit) };
    size_t collected = frames_before(segment->frames, commit.frame_bytes, collected_frames(segment));
    if (collected == commit.frame_bytes || atomic_exchange(&is_under_way, true))
        return;
    int drained = spool_append_ourselves(segment, segment->frames + collected, commit.frame_bytes - collected, NULL);
    struct held_lock held = lock_take(&engine.lock);
    if (drained == 0)
        note_drained(segment, commit.next_frame);
    else
        async_drain.rest_until_ns = clock_read(CLOCK_MONOTONIC) + REST_NS;
    lock_give(held);
    atomic_store(&is_under_way, false);
}

void async_drain_turn(void)
{
    struct segment *segment = engine.home.segment;
    if ((uint32_t)raw_getpid() != segment->pid) /* a vforked child */
        return;
    bool is_ours = false;
    struct held_lock held = lock_take(&engine.lock);
    if (async_drain.helper != NULL && atomic_load(&async_drain.task) == 0)
        settle();
    if (async_drain.helper == NULL && async_drain_is_due() && clock_read(CLOCK_MONOTONIC) >= async_drain.rest_until_ns) {
        union commit commit = { .word = atomic_load(&segment->commit) };
        size_t collected = frames_before(segment->frames, commit.frame_bytes, collected_frames(segment));
        int wrong = 0;
        segment_count_problem(segment, PROBLEM_segment_full);
        if (collected < commit.frame_bytes)
            async_drain.helper = drain_helper_begin(segment, segment->frames + collected, commit.frame_bytes - collected, &async_drain.task, &wrong);
        if (async_drain.helper != NULL) {
            async_drain.helper->until_frame = commit.next_frame;
            async_drain.wait_until_ns = async_drain.helper->began_ns + FULL_WAIT_NS;
        } else if (collected == commit.frame_bytes)
            note_drained(segment, commit.next_frame);
        else
            is_ours = wrong == 0;
        async_drain.rest_until_ns = wrong < 0 ? clock_read(CLOCK_MONOTONIC) + REST_NS : 0;
    }
    bool must_wait = async_drain.helper != NULL && is_nearly_full() && clock_read(CLOCK_MONOTONIC) < async_drain.wait_until_ns;
    uint64_t until_ns = async_drain.wait_until_ns;
    lock_give(held);
    if (is_ours)
        drain_ourselves();
    if (must_wait)
        drain_helper_wait(&async_drain.task, until_ns);
}

void async_drain_begin_end(void)
{
    async_drain.end_ns = clock_read(CLOCK_MONOTONIC) + engine.settings.exit_ns;
}

int async_drain_last(void)
{
    if (async_drain.helper != NULL) {
        uint64_t until_ns = async_drain.helper->began_ns + engine.settings.exit_ns; /* one that hangs since long has had its time */
        struct knowledge known = know(engine.home.segment);
        bool is_over = see_through(async_drain.helper, &async_drain.task, until_ns < async_drain.end_ns ? until_ns : async_drain.end_ns, &known);
        job_page_close(known.page);
        if (!is_over)
            return -SPOOL_LATE;
        struct held_lock held = lock_take(&engine.lock);
        if (async_drain.helper != NULL)
            settle();
        lock_give(held);
    }
    return drain_frames(&engine.home);
}

void async_drain_forget(void)
{
    if (async_drain.helper != NULL)
        drain_helper_forget(async_drain.helper);
    async_drain.helper = NULL;
    atomic_store(&async_drain.task, 0);
    async_drain.rest_until_ns = 0;
}
