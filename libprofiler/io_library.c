#include "io_library.h"

#include "engine.h"
#include "lane.h"
#include "own_errno.h"
#include "state.h"

/* A program calls some tens of the symbols, from a few objects. What finds no room is looked for at each call. */
#define REACHES_MAX 512

START_DATA int io_library_is_on = 1;
static _Atomic uint32_t opened;
static struct reach reaches[REACHES_MAX];
static _Atomic uint32_t reaches_used;
static struct reach *_Atomic of_library[IO_LIBRARIES];

void io_library_choose(bool is_on)
{
    io_library_is_on = is_on;
}

void io_library_opened(void)
{
    atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed);
}

static bool holds(const struct reach *known, const void *caller, uint32_t opened_now)
{
    return atomic_load_explicit(&known->opened, memory_order_relaxed) == opened_now &&
           (uintptr_t)caller - known->callers.begin < known->callers.end - known->callers.begin;
}

/* Where another function of the library was found for the same caller; NULL: none was yet. */
static const void *beside(enum io_library library, const void *caller, uint32_t opened_now)
{
    const struct reach *known = atomic_load_explicit(&of_library[library], memory_order_acquire);
    while (known != NULL && !holds(known, caller, opened_now))
        known = known->next_of_library;
    return known != NULL ? known->address : NULL;
}

/* The same answer as before another library was opened goes on. */
static void note(enum io_library library, struct reach *_Atomic *reached, struct symbol_range callers, uint32_t opened_now, void *address)
{
    for (struct reach *known = atomic_load_explicit(reached, memory_order_acquire); known != NULL; known = known->next)
        if (known->callers.begin == callers.begin && known->callers.end == callers.end && known->address == address) {
            atomic_store_explicit(&known->opened, opened_now, memory_order_relaxed);
            return;
        }
    uint32_t place = atomic_load_explicit(&reaches_used, memory_order_relaxed);
    if (place >= REACHES_MAX || (place = atomic_fetch_add(&reaches_used, 1)) >= REACHES_MAX)
        return;
    struct reach *new = &reaches[place];
    *new = (struct reach){ .next = atomic_load(reached),
                           .next_of_library = atomic_load(&of_library[library]),
                           .callers = callers,
                           .opened = opened_now,
                           .address = address };
    while (!atomic_compare_exchange_weak(reached, &new->next, new))
        ;
    while (!atomic_compare_exchange_weak(&of_library[library], &new->next_of_library, new))
        ;
}

/* The function that a call of `name` by code at `caller` would have reached without us. */
static void *reach(enum io_library library, void **real, struct reach *_Atomic *reached, const char *name, const void *caller)
{
    uint32_t opened_now = atomic_load_explicit(&opened, memory_order_relaxed);
    for (const struct reach *known = atomic_load_explicit(reached, memory_order_acquire); known != NULL; known = known->next)
        if (holds(known, caller, opened_now))
            return known->address;
    int saved_errno = errno_now();
    struct symbol_range callers;
    struct symbol found = symbol_reached(name, caller, beside(library, caller, opened_now), &callers);
    if (found.address != NULL && !found.is_later)
        *real = found.address;
    else if (found.address != NULL && callers.begin < callers.end)
        note(library, reached, callers, opened_now, found.address);
    errno_put(saved_errno);
    return found.address != NULL ? found.address : engine_real(name);
}

void *io_library_begin(struct library_call *call, void **real, struct reach *_Atomic *reached, const char *name, const void *frame,
                       const void *returns, const void *caller)
{
    struct thread *thread = &thread_state;
    call->library = library_of_function[call->function];
    void *found = *real != NULL ? *real : reach(call->library, real, reached, name, caller);
    struct call_frame *around = &thread->library_call[call->library];
    call->is_counted = io_library_is_on && !(around->at != NULL && guard_is_within(frame, around->at, around->returns));
    if (!call->is_counted)
        return found;
    *around = (struct call_frame){ frame, returns };
    call->file_ns = lane_file_ns(thread);
    call->mpi_ns = thread->mpi_ns;
    call->start_tick = tick_now();
    return found;
}

/* Returns the process's row of the function; NULL: there is no memory for it. */
static struct library_called *row_of(enum library_function function)
{
    struct segment *segment = engine.home.segment;
    if (atomic_load_explicit(&segment->has_library_calls, memory_order_acquire) == 0) {
        struct held_lock held = lock_take(&engine.lock);
        bool is_there = segment_reserve(&engine.home, segment->library_calls, sizeof segment->library_calls) == 0;
        atomic_store_explicit(&segment->has_library_calls, is_there, memory_order_release);
        if (!is_there)
            notice_problem(PROBLEM_calls_dropped, NULL);
        lock_give(held);
        if (!is_there)
            return NULL;
    }
    return &segment->library_calls[function];
}

static void add(_Atomic uint64_t *sum, uint64_t now, uint64_t before)
{
    atomic_fetch_add_explicit(sum, now > before ? now - before : 0, memory_order_relaxed);
}

static void count(const struct library_call *call, uint64_t end_tick)
{
    struct library_called *called = io_library_is_on ? row_of(call->function) : NULL; /* the settings may just have been read */
    if (called == NULL)
        return;
    add(&called->calls, 1, 0);
    add(&called->ns, end_tick > call->start_tick ? ticks_to_ns(end_tick - call->start_tick) : 0, 0);
    add(&called->file_ns, lane_file_ns(&thread_state), call->file_ns);
    add(&called->mpi_ns, thread_state.mpi_ns, call->mpi_ns);
}

void io_library_end(const struct library_call *call)
{
    if (!call->is_counted)
        return;
    uint64_t end_tick = tick_now();
    int saved_errno = errno_now();
    thread_state.library_call[call->library].at = NULL;
    if (atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON || call_is_on())
        count(call, end_tick);
    errno_put(saved_errno);
}
