#include "accelerated.h"

#include "engine.h"
#include "guard.h"
#include "mount.h"
#include "own_errno.h"
#include "record.h"
#include "state.h"

#include <string.h>

/* Slices whose sums are at hand: work is told of in about the order in which it ran. */
enum { SLICES_AT_HAND = 4 };
/* Work that ends later than this after now, by the accelerator's clock, makes no sense; nor does work of so many slices. */
#define CLOCKS_APART_NS UINT64_C(1000000000)
#define SLICES_MOST 100000

struct sums {
    struct record slices[SLICES_AT_HAND]; /* the one that was made first comes first */
    unsigned used;
    uint64_t lost; /* pieces of work of which something found no place */
};

/* A process that cannot drain may have no room: what finds no place is counted as lost. */
static void close_slice(struct sums *sums, const struct record *record)
{
    uint64_t pieces = 0;
    for (unsigned kind = 0; kind < ACCELERATED_KINDS; kind++)
        pieces += record->communicated[kind].calls;
    if (!record_append(&engine.home, record))
        sums->lost += pieces > 0 ? pieces : 1;
}

static struct communicated *sum_of(struct sums *sums, uint64_t slice, uint64_t kind)
{
    unsigned place = 0;
    while (place < sums->used && sums->slices[place].slice != slice)
        place++;
    if (place == SLICES_AT_HAND) {
        close_slice(sums, &sums->slices[0]);
        memmove(&sums->slices[0], &sums->slices[1], sizeof sums->slices - sizeof sums->slices[0]);
        place = --sums->used;
    }
    if (place == sums->used)
        sums->slices[sums->used++] = (struct record){ .slice = slice, .mount = MOUNT_OTHER, .layer = RECORD_ACCELERATED };
    return &sums->slices[place].communicated[kind];
}

/* Bytes go by time to the slices in which the work ran, and add up to the whole. */
static void add(struct sums *sums, const struct accelerated_work *work)
{
    uint64_t slice_ns = engine.settings.slice_ns, whole_ns = work->end_ns - work->begin_ns, given_ns = 0, given_bytes = 0;
    uint64_t last = work->end_ns / slice_ns;
    for (uint64_t slice = work->begin_ns / slice_ns; slice <= last; slice++) {
        uint64_t until_ns = slice == last ? whole_ns : (slice + 1) * slice_ns - work->begin_ns;
        uint64_t until_bytes = slice == last ? work->bytes : (uint64_t)((unsigned __int128)work->bytes * until_ns / whole_ns);
        struct communicated *sum = sum_of(sums, slice, work->kind);
        sum->calls += slice == last;
        sum->ns += until_ns - given_ns;
        sum->bytes += until_bytes - given_bytes;
        given_ns = until_ns;
        given_bytes = until_bytes;
    }
}

static bool is_possible(const struct accelerated_work *work, uint64_t now_ns)
{
    return work->kind < ACCELERATED_KINDS && work->begin_ns != 0 && work->begin_ns <= work->end_ns && work->end_ns < now_ns + CLOCKS_APART_NS &&
           (work->end_ns - work->begin_ns) / engine.settings.slice_ns < SLICES_MOST;
}

static void count_work(const struct accelerated_work *work, unsigned count)
{
    struct sums sums = { .used = 0 };
    uint64_t now_ns = clock_read(CLOCK_REALTIME);
    struct held_lock held = lock_take(&engine.lock);
    for (unsigned i = 0; i < count; i++) {
        if (is_possible(&work[i], now_ns))
            add(&sums, &work[i]);
        else
            sums.lost++;
    }
    for (unsigned place = 0; place < sums.used; place++)
        close_slice(&sums, &sums.slices[place]);
    notice_problems_of_store();
    lock_give(held);
    if (sums.lost > 0)
        engine_count_problem(PROBLEM_accelerated_dropped, sums.lost);
}

void slicewise_accelerated(const struct accelerated_work *work, unsigned number)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!call_is_on())
        return;
    int saved_errno = errno_now();
    if (guard_begin(thread, &frame)) {
        count_work(work, number);
        guard_end(thread);
    } else { /* no interface tells of work from a signal handler */
        engine_count_problem(PROBLEM_accelerated_dropped, number);
    }
    errno_put(saved_errno);
}

void slicewise_accelerators_failed(uint64_t lost)
{
    int saved_errno = errno_now();
    if (call_is_on())
        engine_count_problem(lost > 0 ? PROBLEM_accelerated_dropped : PROBLEM_accelerators_unseen, lost > 0 ? lost : 1);
    errno_put(saved_errno);
}
