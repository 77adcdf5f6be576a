#include "communication.h"

#include "engine.h"
#include "fast_path.h"
#include "guard.h"
#include "lane.h"
#include "mount.h"
#include "own_errno.h"
#include "site.h"
#include "state.h"

START_DATA int communication_is_on = 1;

void communication_choose(bool is_on)
{
    communication_is_on = is_on;
}

static inline void add(struct communicated *communicated, const struct share *share)
{
    communicated->calls++;
    communicated->ns += share->ns;
    communicated->bytes += share->bytes;
}

/* To where the slice ends, also where the lane ends earlier for a sample of a call site: these are of I/O alone. */
static inline bool is_in_slice(const struct thread *thread, uint64_t start_tick, uint64_t end_tick)
{
    return start_tick >= thread->begin_tick && end_tick < thread->turn_tick && start_tick <= end_tick;
}

/* `layer`: RECORD_COMMUNICATION or RECORD_THREAD_WAITS, and `class` accordingly. */
static void count_here(struct thread *thread, unsigned layer, unsigned class, const struct call *call, struct share *share)
{
    uint64_t whole_ns = share->ns;
    if (layer == RECORD_COMMUNICATION)
        thread->mpi_ns += share->ns;
    if (thread->lane == NULL || !is_in_slice(thread, call->start_tick, call->end_tick)) {
        if (!lane_turn(thread, call, MOUNT_OTHER, layer, class, share->bytes, share) || thread->lane == NULL)
            return;
        site_look(thread, call, LAYER_mpiio, 0, 0, 0); /* when the next sample is due in the new slice */
    }
    add(&(layer == RECORD_COMMUNICATION ? thread->lane->communicated : lane_waits(thread))[class], share);
    if (layer == RECORD_THREAD_WAITS)
        site_look(thread, call, LAYER_posix, whole_ns, 0, 0);
}

/* A signal handler interrupted this thread's bookkeeping: its own lane must not be touched. */
static void count_in_handler(struct thread *interrupted, unsigned layer, unsigned class, const struct call *call, struct share *share)
{
    bool kept_signals = interrupted->keeps_signals;
    struct thread thread = { .is_aside = 1, .is_registered = 1 };
    count_here(&thread, layer, class, call, share);
    lane_release(&thread);
    if (!kept_signals)
        lock_give_signals_back(interrupted);
}

static uint64_t ns_of(uint64_t start_tick, uint64_t end_tick)
{
    return end_tick > start_tick ? ticks_to_ns(end_tick - start_tick) : 0;
}

static bool is_first_thread(const struct lane *lane)
{
    return (lane != NULL ? atomic_load_explicit(&lane->owner, memory_order_relaxed) : (uint32_t)raw_gettid()) == lock_own_pid();
}

static __attribute__((noinline)) void count_unusually(unsigned layer, unsigned class, const struct call *call, uint64_t bytes)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!call_is_on() || !(communication_is_on || layer == RECORD_THREAD_WAITS)) /* the settings may just have been read */
        return;
    int saved_errno = errno_now();
    struct share share = { .ns = ns_of(call->start_tick, call->end_tick), .bytes = bytes }; /* now the clock's rate is known */
    if (layer == RECORD_THREAD_WAITS && is_first_thread(thread->lane))
        share.bytes = share.ns;
    if (guard_begin(thread, &frame)) {
        count_here(thread, layer, class, call, &share);
        guard_end(thread);
    } else {
        count_in_handler(thread, layer, class, call, &share);
    }
    errno_put(saved_errno);
}

void communication_count(enum mpi_class class, uint64_t start_tick, uint64_t end_tick, uint64_t bytes)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    struct share share = { .ns = ns_of(start_tick, end_tick), .bytes = bytes };
    if (LIKELY(atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON && guard_is_free(thread, &frame))) {
        guard_set(thread, &frame);
        bool is_usual = LIKELY(is_in_slice(thread, start_tick, end_tick));
        if (is_usual)
            add(&thread->lane->communicated[class], &share);
        thread->mpi_ns += is_usual ? share.ns : 0;
        guard_clear(thread);
        if (is_usual)
            return;
    }
    struct call call = { .start_tick = start_tick, .end_tick = end_tick };
    count_unusually(RECORD_COMMUNICATION, class, &call, bytes);
}

uint64_t slicewise_thread_wait_begin(void)
{
    if (thread_state.is_at_accelerator)
        return 0;
    engine_prepare();
    thread_state.is_waiting = true;
    return tick_now();
}

uint64_t slicewise_accelerator_wait_begin(void)
{
    uint64_t tick = slicewise_thread_wait_begin();
    thread_state.is_at_accelerator = true;
    return tick;
}

void slicewise_thread_wait_end(unsigned kind, uint64_t start_tick)
{
    struct call call = { .operation = (enum operation)(OPERATIONS + kind), .start_tick = start_tick, .end_tick = tick_now() };
    thread_state.is_waiting = false;
    if (kind == THREAD_WAIT_accelerator)
        thread_state.is_at_accelerator = false;
    site_threads_code = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (kind < THREAD_WAITS && !communication_contains(__builtin_frame_address(0)))
        count_unusually(RECORD_THREAD_WAITS, kind, &call, 0);
}

bool communication_contains(const void *here)
{
    return guard_is_within(here, thread_state.mpi_frame, thread_state.mpi_return);
}

void communication_open(enum mpi_class class, uint64_t start_tick)
{
    struct thread *thread = &thread_state;
    thread->mpi_open = thread->mpi_frame;
    thread->mpi_class = class;
    thread->mpi_own_since = start_tick;
    thread->mpi_file_ns = atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON ? lane_file_ns(thread) : 0;
}

void communication_open_is(enum mpi_class class)
{
    thread_state.mpi_class = class;
}

void communication_close(enum mpi_class class, uint64_t start_tick, uint64_t end_tick)
{
    struct thread *thread = &thread_state;
    bool is_known = thread->mpi_open != NULL; /* not in a child that was forked within the call: that begins with nothing */
    if (is_known)
        start_tick = thread->mpi_own_since;
    uint64_t ticks = lane_file_ticks(thread, is_known ? thread->mpi_file_ns : 0), most = end_tick > start_tick ? end_tick - start_tick : 0;
    thread->mpi_open = NULL;
    communication_count(class, start_tick + (ticks < most ? ticks : most), end_tick, 0);
}
