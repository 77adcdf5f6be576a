#include "lazy_start.h"

#include "mount.h"
#include "state.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* A call that took longer is worth starting the engine: it may have waited for a lock or a server. */
#define DEFERRED_MOST_NS 1000000

OWN_PAGE union own_page_bytes lazy_start_bytes __attribute__((aligned(PAGE_BYTES)));

/* Before, settings are not known: whether there is anything to count (a program's .preinit_array). */
static START_DATA bool is_ready;

static void ask_who(bool is_child)
{
    lazy_start_page.parent = (uint32_t)syscall(SYS_getppid);
    lazy_start_page.is_child = is_child;
    lazy_start_page.began_tick = tick_now();
    lazy_start_page.pid = (uint32_t)raw_getpid();
}

void lazy_start_begin(void)
{
    syscall(SYS_madvise, &lazy_start_bytes, sizeof lazy_start_bytes, MADV_WIPEONFORK);
    ask_who(false);
    lazy_start_page.began_ns = clock_read(CLOCK_REALTIME);
    is_ready = true;
}

void lazy_start_stop(void)
{
    is_ready = false;
}

uint32_t lazy_start_pid(void)
{
    if (lazy_start_page.pid == 0) {
        lazy_start_page.parents_io = own_io;
        ask_who(true);
    }
    return lazy_start_page.pid;
}

/* At once, before the child vforks: else a child of its own would be assumed to be it. */
void lazy_start_begin_child(void)
{
    lazy_start_page.parent = 0; /* written first: a page that is only read is mapped twice */
    if (lazy_start_page.pid != 0 && lazy_start_page.pid != (uint32_t)raw_getpid())
        memset(&lazy_start_page, 0, sizeof lazy_start_page);
    lazy_start_pid();
}

/* A word: the device as the kernel writes it, in the half that a table's word has its generation in; the object; a bit that is not 0. */
#define DEVICE_SHIFT 32
#define MINOR_BITS 20

descriptor lazy_start_word(enum object object, uint64_t device)
{
    uint64_t key = object == OBJECT_file ? (uint64_t)major(device) << MINOR_BITS | minor(device) : 0;
    return key << DEVICE_SHIFT | (uint64_t)object << 8 | 1;
}

descriptor lazy_start_look(int fd)
{
    struct stat status;
    if (!is_ready || syscall(SYS_fstat, fd, &status) != 0)
        return OBJECT_other << 8 | 1;
    return lazy_start_word(object_of_mode(status.st_mode), status.st_dev);
}

uint64_t lazy_start_device(descriptor word)
{
    uint32_t device = (uint32_t)(word >> DEVICE_SHIFT);
    return makedev(device >> MINOR_BITS, device & ((1u << MINOR_BITS) - 1));
}

static bool is_unstarted(void)
{
    return atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_UNSTARTED;
}

bool lazy_start_defers(const struct call *call, descriptor word, bool is_error)
{
    if (!is_unstarted() || !is_ready || !lazy_start_may_defer(call->operation) || ticks_to_ns(call->end_tick - call->start_tick) > DEFERRED_MOST_NS ||
        atomic_load(&lazy_start_page.deferred_used) >= DEFERRED_MAX)
        return false;
    uint32_t index = atomic_fetch_add(&lazy_start_page.deferred_used, 1);
    if (index >= DEFERRED_MAX)
        return false;
    struct deferred_call *noted = &lazy_start_page.deferred[index];
    noted->start_tick = call->start_tick;
    noted->end_tick = call->end_tick;
    noted->word = word;
    noted->operation = (uint16_t)call->operation;
    noted->is_error = is_error;
    atomic_store(&noted->is_whole, true);
    return true;
}

bool lazy_start_note(enum operation operation, uint32_t times)
{
    if (!is_ready || operation == OP_MPI_Init || operation == OP_MPI_Init_thread || operation == OP_MPI_Finalize)
        return false;
    atomic_fetch_add_explicit(&lazy_start_page.lived[operation], times, memory_order_relaxed);
    return true;
}

void lazy_start_count(void)
{
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        if (atomic_load_explicit(&lazy_start_page.lived[operation], memory_order_relaxed) == 0)
            continue;
        struct call call = call_begin(operation);
        call_stop(&call);
        call_lived_often(&call, atomic_exchange(&lazy_start_page.lived[operation], 0));
    }
    uint32_t used = atomic_exchange(&lazy_start_page.deferred_used, 0);
    for (uint32_t i = 0; i < used && i < DEFERRED_MAX; i++) {
        struct deferred_call *noted = &lazy_start_page.deferred[i];
        struct call call = { .operation = noted->operation, .start_tick = noted->start_tick, .end_tick = noted->end_tick };
        if (atomic_exchange(&noted->is_whole, false))
            call_touched_descriptor(&call, noted->word, noted->is_error);
    }
}
