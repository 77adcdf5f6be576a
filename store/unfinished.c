#include "unfinished.h"

#include "clock.h"
#include "record.h"

static unsigned used(const struct segment *segment)
{
    return segment->unfinished_used < UNFINISHED_MAX ? segment->unfinished_used : UNFINISHED_MAX;
}

uint64_t unfinished_last_ns(const struct segment *segment)
{
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < used(segment); i++)
        last_ns = segment->unfinished[i].last_ns > last_ns ? segment->unfinished[i].last_ns : last_ns;
    return last_ns;
}

static struct lane *lane_of(struct segment *segment, uint32_t thread)
{
    for (uint32_t i = 0; i < segment->lanes_used && i < LANES_MAX; i++) {
        struct lane *lane = segment_lane(segment, i);
        if (atomic_load_explicit(&lane->owner, memory_order_relaxed) == thread)
            return lane;
    }
    return NULL;
}

/* Whether the thread came back from the call, which its wrapper then counted: its open slice is no earlier than the one in which it was last seen
 * under way. A call within one slice is passed over: who has no lane any more may have come back, too. */
static bool may_have_returned(const struct lane *lane, const struct unfinished *call, uint64_t slice_ns)
{
    return lane == NULL || lane->slice >= (call->last_ns - 1) / slice_ns;
}

/* Evenly over the slices in which it was under way, as calls are that return. */
static void add(struct segment_home *home, const struct unfinished *call, uint64_t slice_ns)
{
    uint64_t whole_ns = call->last_ns - call->begin_ns, given_ns = 0, given_bytes = 0, parts = call->parts > 0 ? call->parts : 1;
    uint64_t last = (call->last_ns - 1) / slice_ns;
    for (uint64_t slice = call->begin_ns / slice_ns; slice <= last; slice++) {
        uint64_t until_ns = slice < last ? (slice + 1) * slice_ns - call->begin_ns : whole_ns;
        uint64_t until_bytes = (uint64_t)((unsigned __int128)call->bytes * until_ns / whole_ns), bytes = until_bytes - given_bytes;
        struct record record = { .slice = slice, .mount = call->mount, .layer = LAYER_posix };
        record.counts.counter[COUNTER_read_ns + call->kind] = (until_ns - given_ns) / parts;
        record.counts.counter[COUNTER_read_ops + call->kind] = slice == last;
        record.counts.counter[COUNTER_threads] = slice == last;
        record.counts.counter[COUNTER_read_slowest_ns + call->kind] = slice == last ? whole_ns : 0;
        if (call->kind <= KIND_write)
            record.counts.counter[COUNTER_read_bytes + call->kind] = bytes;
        record_append(home, &record);
        if (call->kind <= KIND_write && bytes > 0) {
            struct record counted = { .slice = slice, .mount = 0, .layer = LAYER_kernel };
            counted.counts.counter[COUNTER_read_bytes + call->kind] = bytes;
            counted.counts.counter[COUNTER_kernel_read_bytes + call->kind] = bytes;
            record_append(home, &counted);
        }
        given_ns = until_ns;
        given_bytes = until_bytes;
    }
}

/* In the row of all files that have none of their own. */
static void add_to_other_files(struct segment *segment, const struct unfinished *call)
{
    if (call->kind > KIND_write || segment->lanes_used == 0)
        return;
    uint64_t *sums = segment_lane(segment, 0)->other_files;
    sums[FILE_SUM(files_read_ops) + call->kind]++;
    sums[FILE_SUM(files_read_bytes) + call->kind] += call->bytes;
    sums[FILE_SUM(files_read_ns) + call->kind] += (call->last_ns - call->begin_ns) / (call->parts > 0 ? call->parts : 1);
}

void unfinished_add(struct segment_home *home)
{
    struct segment *segment = home->segment;
    uint64_t slice_ns = segment->process_row[processes_slice_ns];
    for (unsigned i = 0; i < used(segment); i++) {
        const struct unfinished *call = &segment->unfinished[i];
        const struct lane *lane = lane_of(segment, call->thread);
        bool is_sound = call->begin_ns <= call->first_ns && call->first_ns <= call->last_ns && call->begin_ns < call->last_ns &&
                        call->last_ns - call->begin_ns <= UNFINISHED_SLICES_MAX * slice_ns && call->mount < segment->mounts_used &&
                        call->kind <= KIND_sync;
        if (!is_sound || may_have_returned(lane, call, slice_ns))
            continue;
        add(home, call, slice_ns);
        add_to_other_files(segment, call);
        segment_count_problem(segment, PROBLEM_unfinished_calls);
    }
    segment->unfinished_used = 0;
}
