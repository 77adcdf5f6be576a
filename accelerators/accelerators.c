#include "accelerators.h"

#include "symbol.h"

#include <string.h>
#include <time.h>

static __thread unsigned depth;
static __thread uint64_t since_tick;

void accelerators_wait(bool begins)
{
    if (begins) {
        if (depth++ == 0)
            since_tick = slicewise_accelerator_wait_begin();
    } else if (depth > 0 && --depth == 0) { /* 0: it began before we were asked */
        slicewise_thread_wait_end(THREAD_WAIT_accelerator, since_tick);
    }
    __asm__ volatile(""); /* no jump: it looks where it returns to, which is this library */
}

bool accelerators_is_waiting(const char *name)
{
    static const char *const prefixes[] = { "cudaMemcpy", "cuMemcpy", "hipMemcpy" };
    bool is_copy = false;
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        is_copy = is_copy || strncmp(name, prefixes[i], strlen(prefixes[i])) == 0;
    /* cudaMemcpyAsync and cudaMemcpyBatchAsync return at once. What PyTorch calls after hipMemcpyAsync is hipMemcpyWithStream, which waits. */
    return strstr(name, "Synchronize") != NULL || (is_copy && strstr(name, "Async") == NULL);
}

static uint64_t realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void gathered_begin(struct gathered *gathered, int (*now)(uint64_t *ns))
{
    uint64_t other = 0, before = realtime_ns();
    bool is_known = now(&other) == 0;
    gathered->ahead_ns = before + (realtime_ns() - before) / 2 - other;
    gathered->used = 0;
    if (!is_known)
        gathered->ahead_ns = 0; /* times that make no sense then are not counted */
}

void gathered_add(struct gathered *gathered, enum accelerated kind, uint64_t begin, uint64_t end, uint64_t bytes)
{
    bool is_timed = begin != 0 && end >= begin; /* 0: the interface lost the time */
    gathered->work[gathered->used++] = (struct accelerated_work){ kind, is_timed ? begin + gathered->ahead_ns : 0, end + gathered->ahead_ns, bytes };
    if (gathered->used == WORK_AT_ONCE)
        gathered_end(gathered);
}

void gathered_end(struct gathered *gathered)
{
    if (gathered->used > 0)
        slicewise_accelerated(gathered->work, gathered->used);
    gathered->used = 0;
}

function accelerators_function(const char *name)
{
    return (function)(uintptr_t)symbol_find(name, false);
}
