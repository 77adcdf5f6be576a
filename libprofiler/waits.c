#include "waits.h"

#include "descriptor.h"
#include "raw.h"
#include "sections.h"
#include "slice_row.h"
#include "state.h"
#include "symbol.h"

#include <dlfcn.h>
#include <limits.h>
#pragma weak dlsym /* before 2.34 glibc has it in a library of its own, which a program that opens no library may lack */
#include <string.h>

#define LIBRARY_NAME "libslicewise-coordinate.so"
#define LATE_NS NS_PER_SECOND /* between a wait's end and its being counted, at most, unless the process is stopped there */

static START_DATA const struct turn_taker *_Atomic taker;
static CALL_DATA bool has_given_up;

static void give_up(void)
{
    if (!has_given_up && !thread_state.holds_lock && engine.home.segment != NULL)
        engine_count_problem(PROBLEM_not_coordinated, 1);
    has_given_up = true; /* of a process that has no segment yet its start counts it */
}

bool waits_are_given_up(void)
{
    return has_given_up;
}

/* The part of a wait that is in one slice. */
static void count_in_slice(uint64_t slice, uint64_t ns, bool is_new)
{
    struct segment *segment = engine.home.segment;
    uint64_t *row = slice_row(&segment->wait_ledger, segment->waits[0], WAIT_COLUMNS, WAIT_ROWS_MAX, slice);
    if (row == NULL) {
        notice_problem(PROBLEM_waits_dropped, NULL);
        return;
    }
    row[waits_waited_ns] += ns;
    row[waits_waits] += is_new;
}

/* When a wait that is told now began, by CLOCK_REALTIME. Its clock was read a little before now: it begins where the part before it ended. */
static uint64_t begin_of(uint64_t ns)
{
    static uint64_t counted_until_ns;
    uint64_t from_ns = clock_read(CLOCK_REALTIME) - ns;
    if (from_ns < counted_until_ns && counted_until_ns - from_ns < LATE_NS)
        from_ns = counted_until_ns;
    counted_until_ns = from_ns + ns;
    return from_ns;
}

void waits_count(uint64_t ns, bool is_new)
{
    if (ns == 0 || thread_state.holds_lock || !engine_start())
        return;
    int saved_errno = errno_now();
    struct held_lock held = lock_take(&engine.lock);
    struct segment *segment = engine.home.segment;
    uint64_t slice_ns = engine.settings.slice_ns, from_ns = begin_of(ns), end_ns = from_ns + ns;
    segment->process_row[processes_waited_ns] += ns;
    segment->process_row[processes_waits] += is_new;
    while (from_ns < end_ns) {
        uint64_t slice = from_ns / slice_ns, slice_end_ns = (slice + 1) * slice_ns, until_ns = slice_end_ns < end_ns ? slice_end_ns : end_ns;
        count_in_slice(slice, until_ns - from_ns, is_new);
        is_new = false;
        from_ns = until_ns;
    }
    atomic_store_explicit(&segment->last_call_ns, end_ns, memory_order_relaxed);
    lock_give(held);
    errno_put(saved_errno);
}

/* For programs that take turns by calls of their own: their waits are the profile's as well. */
__attribute__((visibility("default"))) void slicewise_count_wait(uint64_t ns, bool is_new);
void slicewise_count_wait(uint64_t ns, bool is_new)
{
    waits_count(ns, is_new);
}

static void take_off(uint64_t ns)
{
    uint64_t ticks = ns_to_ticks(ns);
    if (ticks == 0)
        return;
    thread_state.waited_ticks = ticks;
    thread_state.end_tick = 0; /* so that the call is looked at closely (call_count_unusually) */
}

static descriptor word_of(int fd)
{
    return descriptor_word(fd);
}

static void *mpi_frame(void)
{
    return thread_state.mpi_frame;
}

/* Beside this library; "" where its path cannot be told. */
static void library_path(char *path, size_t room)
{
    const char *own = symbol_own_path(), *slash = own != NULL ? strrchr(own, '/') : NULL;
    size_t length = slash != NULL ? (size_t)(slash + 1 - own) : 0;
    path[0] = '\0';
    if (length == 0 || length + sizeof LIBRARY_NAME > room)
        return;
    memcpy(path, own, length);
    memcpy(path + length, LIBRARY_NAME, sizeof LIBRARY_NAME);
}

/* libc itself can open libraries where the program lacks libdl, which has dlopen before glibc 2.34. It stays open. */
static turn_library_begin *open_library(const char *path)
{
    void *found = symbol_real("dlopen"), *library;
    void *(*open)(const char *, int);
    turn_library_begin *begin;
    found = found != NULL ? found : symbol_real("__libc_dlopen_mode");
    memcpy(&open, &found, sizeof open);
    library = path[0] != '\0' && open != NULL ? open(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL)
        found = NULL;
    else
        found = dlsym != NULL ? dlsym(library, TURN_LIBRARY_BEGIN) : symbol_find(TURN_LIBRARY_BEGIN, false);
    if (found == NULL)
        symbol_forget_error();
    memcpy(&begin, &found, sizeof begin);
    return begin;
}

bool waits_are_wanted(void)
{
    return engine.settings.turn_policy != 0 && atomic_load(engine_switch) != ENGINE_OFF;
}

void waits_open(struct turn_profiler *profiler)
{
    char path[PATH_MAX];
    int saved_errno = errno_now();
    profiler->bytes = sizeof *profiler;
    profiler->settings_bytes = sizeof *profiler->settings;
    profiler->settings = &engine.settings;
    profiler->job = engine.job;
    profiler->own_io = &own_io;
    profiler->say = engine_say;
    profiler->given_up = give_up;
    profiler->count_wait = waits_count;
    profiler->take_off = take_off;
    profiler->descriptor_word = word_of;
    profiler->mpi_frame = mpi_frame;
    library_path(path, sizeof path);
    turn_library_begin *begin = open_library(path);
    const struct turn_taker *begun = begin != NULL ? begin(profiler) : NULL;
    atomic_store(&taker, begun);
    if (begun == NULL) {
        engine_say("slicewise: I/O is not coordinated: %s is not there, or not of the same build\n", path[0] != '\0' ? path : LIBRARY_NAME, "", "");
        give_up();
    }
    errno_put(saved_errno);
}

void waits_stop(void)
{
    const struct turn_taker *told = atomic_load(&taker);
    if (told != NULL)
        told->stop();
}

void waits_begin_child(void)
{
    const struct turn_taker *told = atomic_load(&taker);
    if (told != NULL)
        told->begin_child();
}

uint64_t waits_code(void)
{
    const struct turn_taker *told = atomic_load(&taker);
    return told != NULL ? (uint64_t)(uintptr_t)told->stop : 0;
}
