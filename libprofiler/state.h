/* What the engine's own files share: the process's one segment, its lock and its settings. Private to libprofiler. */
#ifndef SLICEWISE_STATE_H
#define SLICEWISE_STATE_H

#include "engine.h"
#include "lock.h"
#include "segment.h"
#include "settings.h"

#include <pthread.h>

/* Before 2.34 glibc has threads in a library of its own, which a program without any lacks: then there is no key. */
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific

struct engine {
    struct segment_home home;
    struct lock lock;
    struct settings settings;
    char job[JOB_NAME_BYTES];
    bool is_first_of_job; /* the job has its name from this process, and not from a setting or the scheduler */
    uint64_t kernel_slice; /* what the kernel counts now belongs to: the latest slice that any lane has turned to */
    pthread_key_t thread_key;
    bool has_thread_key;
    bool may_allocate; /* our constructor runs; whoever starts the engine before it may be within an allocator */
    bool is_said[PROBLEMS];
    bool has_spoken; /* for the job, as the job's page says */
    _Atomic uint64_t full_until_tick; /* no memory for another lane: threads without one do not ask before */
    uint64_t prepared_ns;     /* what the process's beginning cost */
    uint64_t clock_offset_ns; /* CLOCK_REALTIME over CLOCK_MONOTONIC at that time */
    struct {
        uint64_t device, inode;
    } standard_error; /* as it was at the start: later the number may be the program's own file */
};
extern struct engine engine;

/* Whether hardware counters are asked for: what reads them lies on pages that few processes use, and so does what samples computing. */
static inline bool hardware_is_asked_for(void)
{
    return engine.settings.events != NULL && engine.settings.events[0] != '\0'; /* NULL: the settings were not read */
}

/* Counts trouble, and says the first of a kind that is to be said. */
void notice_problem(enum problem problem, const char *detail);

/* Says what the store has counted by itself: it has no words. Caller holds the lock, or the process ends. */
void notice_problems_of_store(void);

/* Says a line on the standard error that the process began with, if it may (notice.c): a format of at most three strings. */
void engine_say(const char *format, const char *first, const char *second, const char *third);

/* Says what is wrong with a setting (`value` may be NULL): for settings_read. */
void notice_bad_setting(const char *variable, const char *value, const char *wrong);

/* At a process's end, when all is closed (or `closed` says why not): brings it to the spool, or says why it stays in the segment. Returns whether
 * nothing stays there. Caller holds no lock. */
bool ending_bring_home(enum ending ending, uint64_t end_ns, int closed);

/* What a counted call costs us, in picoseconds, measured on a lane of no consequence. Caller holds the lock. */
uint64_t call_cost_ps(void);
/* What statx of the working directory takes, in picoseconds: an open's cost is mostly that, and it differs from machine to machine. */
uint64_t call_statx_ps(void);

#endif
