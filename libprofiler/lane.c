/* Lanes: who has which, and how the open slice turns. Runs in the thread that counts; the turn itself under the engine's lock. */
#include "communication.h"
#include "descriptor.h"
#include "hardware.h"
#include "kernel.h"
#include "lane.h"
#include "mount.h"
#include "record.h"
#include "site.h"
#include "state.h"
#include "usage.h"
#include "fast_path.h"

#include <string.h>

/* A call may be spread over this many slices; what is left is in the last one. */
#define SPAN_SLICES_MAX 1000000
/* How long threads without a lane do without one before they ask again: so long, and so many times as long as the search took in vain. */
#define NO_LANE_REST_NS 10000000
#define NO_LANE_REST_SEARCHES 50

static bool is_of_files(uint32_t mount, unsigned layer)
{
    return layer <= LAYER_stdio && engine.home.segment->mounts[mount][mounts_object] == OBJECT_file;
}

/* In the open slice. */
static uint64_t open_file_ns(const struct lane *lane)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < lane->cells_used; i++)
        if (is_of_files(lane->cells[i].mount, lane->cells[i].layer))
            for (enum call_kind kind = KIND_read; kind <= KIND_sync; kind++)
                sum += lane->cells[i].counts.counter[COUNTER_read_ns + kind];
    return sum;
}

/* A new owner is one more thread in every cell that it will use, and what others counted there is no time of its own. */
static void take(struct thread *thread, struct lane *lane, uint32_t index)
{
    for (unsigned i = 0; i < STREAMS; i++)
        stream_is_unusual(&lane->streams[i]);
    memset(lane->cell_of, 0, sizeof lane->cell_of);
    memset(lane->was_counted, 0, sizeof lane->was_counted);
    thread->begin_tick = thread->end_tick = 0;
    thread->closed_file_ns -= open_file_ns(lane);
    thread->lane = lane;
    thread->lane_index = index;
    site_begin(thread);
}

static bool is_gone(uint32_t owner)
{
    return raw_result(syscall(SYS_tgkill, engine.home.segment->pid, owner, 0)) == -ESRCH;
}

/* Caller holds the lock. */
static bool acquire(struct thread *thread)
{
    struct segment *segment = engine.home.segment;
    uint32_t me = (uint32_t)raw_gettid(), used = segment->lanes_used;
    for (uint32_t i = 0; i < used; i++) {
        struct lane *lane = segment_lane(segment, i);
        uint32_t owner = atomic_load_explicit(&lane->owner, memory_order_acquire);
        if (owner == 0 || (used == LANES_MAX && is_gone(owner))) {
            atomic_store_explicit(&lane->owner, me, memory_order_relaxed);
            take(thread, lane, i);
            return true;
        }
    }
    struct lane *lane = segment_lane(segment, used);
    if (used == LANES_MAX || (used > 0 && segment_reserve(&engine.home, lane, LANE_BYTES) < 0)) /* the first one is reserved already */
        return false;
    atomic_store_explicit(&lane->owner, me, memory_order_relaxed);
    segment->lanes_used = used + 1;
    take(thread, lane, used);
    return true;
}

/* A thread that gets no lane does not ask again at every call: memory that is full stays so for a while, and so do 4,096 threads. */
static bool is_full(uint64_t tick)
{
    return tick < atomic_load_explicit(&engine.full_until_tick, memory_order_relaxed);
}

/* Caller holds the lock since `began`. Whoever waited for it while another thread searched in vain does not search, too. */
static bool acquire_unless_full(struct thread *thread, uint64_t began)
{
    if (is_full(began))
        return false;
    if (acquire(thread))
        return true;
    uint64_t now_ns = clock_wall_ns(tick_now()), searched_ns = now_ns - clock_wall_ns(began);
    atomic_store_explicit(&engine.full_until_tick, clock_tick_at(now_ns + NO_LANE_REST_NS + NO_LANE_REST_SEARCHES * searched_ns),
                          memory_order_relaxed);
    return false;
}

void lane_release(struct thread *thread)
{
    if (thread->lane == NULL)
        return;
    site_settle(thread);
    thread->closed_file_ns += open_file_ns(thread->lane);
    atomic_store_explicit(&thread->lane->owner, 0, memory_order_release);
    thread->lane = NULL;
    thread->served_left = 0;
    thread->begin_tick = thread->end_tick = thread->turn_tick = 0;
}

/* Where a record holds the time of a kind of calls, and the bytes that they moved; of what is no I/O a kind is an enum mpi_class or thread_wait. */
static uint64_t *ns_in(struct record *record, unsigned kind)
{
    return record->layer >= RECORD_COMMUNICATION ? &record->communicated[kind].ns : &record->counts.counter[COUNTER_read_ns + kind];
}

static uint64_t *bytes_in(struct record *record, unsigned kind)
{
    if (record->layer >= RECORD_COMMUNICATION)
        return &record->communicated[kind].bytes;
    return kind == KIND_read || kind == KIND_write ? &record->counts.counter[COUNTER_read_bytes + kind] : NULL;
}

/* The part of a call that is in records already, and in none of the lane's cells: for regions. */
static void add_closed(uint32_t index, uint32_t mount, unsigned layer, unsigned kind, uint64_t ns, uint64_t bytes)
{
    uint64_t *sums = lane_closed(engine.home.segment, index);
    if (sums == NULL)
        return;
    if (layer == RECORD_COMMUNICATION)
        sums[REGION_SUM(regions_mpi_ns)] += ns;
    else if (is_of_files(mount, layer))
        sums[REGION_SUM(regions_io_ns)] += ns;
    if (kind <= KIND_write && is_of_files(mount, layer == LAYER_async ? LAYER_posix : layer))
        sums[REGION_SUM(regions_read_bytes) + kind] += bytes;
}

static uint64_t passed_ns(const struct share *share)
{
    return share->over_ns > 0 ? share->over_ns : share->ns;
}

/* Puts the parts of a call that lie in slices before its last into records of their own, and leaves the rest in `share`. Cumulative
 * rounding: the parts add up to the whole exactly. */
static void spread(uint32_t lane, const struct call *call, uint64_t first, uint64_t last, uint32_t mount, unsigned layer, unsigned kind,
                   uint64_t bytes, struct share *share)
{
    uint64_t slice_ns = engine.settings.slice_ns, whole_ns = share->ns, over_ns = passed_ns(share);
    uint64_t start = clock_wall_ns(call->end_tick) - over_ns, given_ns = 0, given_bytes = 0;
    if (last - first > SPAN_SLICES_MAX) {
        notice_problem(PROBLEM_call_span_cut, NULL);
        last = first + SPAN_SLICES_MAX;
    }
    for (uint64_t slice = first; slice < last && over_ns > 0; slice++) { /* what took no time lies in one slice */
        uint64_t passed = (slice + 1) * slice_ns > start ? (slice + 1) * slice_ns - start : 0;
        passed = passed < over_ns ? passed : over_ns;
        uint64_t until_ns = (uint64_t)((unsigned __int128)whole_ns * passed / over_ns);
        uint64_t until_bytes = (uint64_t)((unsigned __int128)bytes * passed / over_ns);
        struct record record = { .slice = slice, .mount = mount, .layer = layer };
        *ns_in(&record, kind) = until_ns - given_ns;
        if (bytes_in(&record, kind) != NULL)
            *bytes_in(&record, kind) = until_bytes - given_bytes;
        if (!record_append(&engine.home, &record))
            continue; /* this part goes into the next slice that has room, at last into the call's own */
        given_ns = until_ns;
        given_bytes = until_bytes;
    }
    *share = (struct share){ .ns = whole_ns - given_ns, .bytes = bytes - given_bytes };
    add_closed(lane, mount, layer, kind, given_ns, given_bytes);
}

/* The ticks within which the lane may count without coming back: to the slice's end, or as far as the clock can be trusted. */
static void set_limits(struct thread *thread)
{
    struct lane *lane = thread->lane;
    uint64_t slice_ns = engine.settings.slice_ns;
    uint64_t end = clock_tick_at((lane->slice + 1) * slice_ns);
    uint64_t trusted_until = profiler_clock.base_tick + clock_trusted_ticks();
    thread->begin_tick = clock_tick_at(lane->slice * slice_ns);
    thread->end_tick = thread->turn_tick = end < trusted_until ? end : trusted_until;
}

uint64_t lane_file_ns(const struct thread *thread)
{
    return thread->closed_file_ns + (thread->lane == NULL ? 0 : open_file_ns(thread->lane));
}

uint64_t lane_file_ticks(const struct thread *thread, uint64_t file_ns)
{
    uint64_t now_ns = lane_file_ns(thread);
    return now_ns > file_ns ? ns_to_ticks(now_ns - file_ns) : 0;
}

/* The slice turns at `call`, which lies within a call of MPI: what time that one took itself, up to here, goes into the slices in which it passed.
 * All of its time on files since it was last counted lies in the slice that ends. Returns false if there is no such call. */
static bool settle_communication(struct thread *thread, const struct call *call)
{
    if (thread->mpi_open == NULL || thread->mpi_open != thread->mpi_frame || !communication_contains(__builtin_frame_address(0)))
        return false;
    struct call own = { .start_tick = thread->mpi_own_since + lane_file_ticks(thread, thread->mpi_file_ns), .end_tick = call->start_tick };
    if (own.start_tick >= own.end_tick)
        return true;
    struct share share = { .ns = ticks_to_ns(own.end_tick - own.start_tick) };
    thread->mpi_ns += share.ns;
    uint64_t end_ns = clock_wall_ns(own.end_tick), slice_ns = engine.settings.slice_ns;
    uint64_t first = (end_ns - share.ns) / slice_ns, last = end_ns / slice_ns;
    if (first < last)
        spread(thread->lane_index, &own, first, last, MOUNT_OTHER, RECORD_COMMUNICATION, thread->mpi_class, 0, &share);
    add_closed(thread->lane_index, MOUNT_OTHER, RECORD_COMMUNICATION, thread->mpi_class, share.ns, 0);
    struct record record = { .slice = last, .mount = MOUNT_OTHER, .layer = RECORD_COMMUNICATION };
    record.communicated[thread->mpi_class].ns = share.ns;
    if (!record_append(&engine.home, &record))
        thread->lane->communicated[thread->mpi_class].ns += share.ns;
    return true;
}

bool lane_turn(struct thread *thread, const struct call *call, uint32_t mount, unsigned layer, unsigned kind, uint64_t bytes, struct share *share)
{
    struct segment *segment = engine.home.segment;
    if (thread->lane == NULL && is_full(call->end_tick)) {
        __atomic_fetch_add(&segment->problems[PROBLEM_calls_dropped], 1, __ATOMIC_RELAXED);
        return false;
    }
    struct held_lock held = lock_take(&engine.lock);
    uint64_t began = tick_now();
    if (thread->lane == NULL && !acquire_unless_full(thread, began)) {
        notice_problem(PROBLEM_calls_dropped, NULL);
        lock_give_keeping_signals(held);
        return false;
    }
    struct lane *lane = thread->lane;
    if (clock_calibrate())
        notice_problem(PROBLEM_clock_stepped, NULL);

    uint64_t slice_ns = engine.settings.slice_ns, end_ns = clock_wall_ns(call->end_tick);
    uint64_t last = end_ns / slice_ns, first = (end_ns - passed_ns(share)) / slice_ns;
    bool is_turned = lane->slice != last, is_in_mpi = is_turned && settle_communication(thread, call);
    if (is_turned) {
        if (lane->slice != 0)
            segment_reserve_kept(&engine.home);
        if (hardware_is_asked_for())
            hardware_read(end_ns, false);
        site_settle(thread);
        uint64_t file_ns = open_file_ns(lane);
        if (lane_close(&engine.home, thread->lane_index, false))
            thread->closed_file_ns += file_ns;
        else /* nothing is lost: the lane keeps the counts of the slice that ends, and its next record has both slices' */
            notice_problem(PROBLEM_slices_joined, NULL);
        notice_problems_of_store();
        lane->slice = last;
    }
    if (engine.kernel_slice < last) {
        if (engine.kernel_slice == 0) {
            usage_sample_first(clock_wall_ns(began));
        } else {
            kernel_sample(&engine.home, engine.kernel_slice);
            usage_sample(clock_wall_ns(began));
        }
        engine.kernel_slice = last;
    }
    if (first < last) {
        uint64_t whole_ns = share->ns;
        spread(thread->lane_index, call, first, last, mount, layer, kind, bytes, share);
        if (is_of_files(mount, layer))
            thread->closed_file_ns += whole_ns - share->ns;
    }
    if (is_in_mpi) {
        thread->mpi_own_since = is_of_files(mount, layer) ? call->end_tick : call->start_tick;
        thread->mpi_file_ns = lane_file_ns(thread) + (is_of_files(mount, layer) ? share->ns : 0);
    }
    set_limits(thread);
    atomic_store_explicit(&segment->last_call_ns, end_ns, memory_order_relaxed);
    segment->process_row[processes_profiler_ns] += ticks_to_ns(tick_now() - began);
    lock_give_keeping_signals(held);
    if (is_turned)
        descriptor_settle(thread);

    if (!thread->is_registered && engine.has_thread_key) {
        thread->is_registered = 1;
        pthread_setspecific(engine.thread_key, thread);
    }
    return true;
}

/* The slice's counts so far become records, and it goes on. */
static void divide_slice(struct thread *thread)
{
    struct lane *lane = thread->lane;
    uint64_t was_counted[CELL_LAYERS];
    memcpy(was_counted, lane->was_counted, sizeof was_counted);
    site_settle(thread);
    thread->closed_file_ns += open_file_ns(lane);
    struct held_lock held = lock_take(&engine.lock);
    lane_close(&engine.home, thread->lane_index, true); /* there is no other place for what comes next */
    lock_give_keeping_signals(held);
    memcpy(lane->was_counted, was_counted, sizeof was_counted);
}

void lane_relieve(struct thread *thread, const struct cell *cell)
{
    if (!lane_has_room(cell))
        divide_slice(thread);
}

/* The lane's cell of a mount and layer, or of waits for threads. */
static struct cell *cell_of(struct thread *thread, uint32_t mount, unsigned layer)
{
    struct lane *lane = thread->lane;
    uint32_t index = 0;
    while (index < lane->cells_used && (lane->cells[index].mount != mount || lane->cells[index].layer != layer))
        index++;
    if (index == CELLS) {
        divide_slice(thread); /* more mounts and layers in one slice than there are cells */
        index = 0;
    }
    struct cell *cell = &lane->cells[index];
    if (index == lane->cells_used) {
        memset(cell, 0, sizeof *cell);
        cell->mount = mount;
        cell->layer = layer;
        atomic_signal_fence(memory_order_release);
        lane->cells_used = index + 1;
    }
    return cell;
}

struct communicated *lane_waits(struct thread *thread)
{
    return cell_of(thread, MOUNT_OTHER, RECORD_THREAD_WAITS)->waits;
}

struct cell *lane_attach(struct thread *thread, uint32_t mount, enum layer layer)
{
    struct lane *lane = thread->lane;
    struct cell *cell = cell_of(thread, mount, layer);
    uint64_t bit = 1ull << mount;
    if ((lane->was_counted[layer] & bit) == 0) {
        lane->was_counted[layer] |= bit;
        cell->counts.counter[COUNTER_threads] += !thread->is_aside;
    }
    lane->cell_of[layer][mount] = CELL_UNIT_OF(lane, cell);
    return cell;
}
