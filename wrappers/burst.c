/* A process that writes much to files without a pause asks for its turn: gates in front of the wrappers of POSIX writes, put there at the start where
 * SLICEWISE_COORDINATE asks for it, and only there. Writes of an MPI call pass, for MPI's collective calls have a turn as a whole (mpi_turns.c). What a
 * write's turn costs the process is not the write's time. For any thread: which of them asks is left to chance, the others pass meanwhile. */
#include "coordinate.h"
#include "descriptor.h"
#include "peek.h"
#include "posix_writes.h"

#define PAUSE_NS 1000000000ull /* the end of a burst */
#define STEP_NS 50000000ull    /* small writes ask again after so long, */
enum { STEP_BYTES = 1 << 20 }; /* large ones each time */

static struct {
    _Atomic uint64_t bytes, told, last_ns, asked_ns; /* told: how many of the bytes the coordinator was told of as written */
} burst;

/* As the table has it: a descriptor's first write, before anybody has looked at it, passes. */
static bool is_file(int fd)
{
    descriptor word = descriptor_word(fd);
    return word != 0 && (enum object)(word >> 8 & 0xf) == OBJECT_file;
}

/* Its last writes are told, too: by how much this phase moved, the next one is judged beforehand. */
static void end_burst(void)
{
    uint64_t bytes = atomic_exchange_explicit(&burst.bytes, 0, memory_order_relaxed);
    uint64_t told = atomic_exchange_explicit(&burst.told, 0, memory_order_relaxed);
    if (bytes > told)
        coordinate_moved(bytes - told);
}

/* Returns whether the write is to be followed by leave. */
static bool enter(int fd, uint64_t bytes)
{
    if (!is_file(fd) || thread_state.mpi_frame != NULL || !coordinate_is_on())
        return false;
    uint64_t now = clock_read(CLOCK_MONOTONIC);
    uint64_t last = atomic_exchange_explicit(&burst.last_ns, now, memory_order_relaxed);
    if (now - last > PAUSE_NS && now > last)
        end_burst();
    uint64_t so_far = atomic_fetch_add_explicit(&burst.bytes, bytes, memory_order_relaxed) + bytes;
    if (so_far < coordinate_burst_bytes() || (bytes < STEP_BYTES && now - atomic_load_explicit(&burst.asked_ns, memory_order_relaxed) < STEP_NS))
        return false;
    uint64_t waited = coordinate_enter(bytes > coordinate_burst_bytes() ? bytes : coordinate_burst_bytes(), 1);
    now += waited;
    atomic_store_explicit(&burst.last_ns, now, memory_order_relaxed);
    atomic_store_explicit(&burst.asked_ns, now, memory_order_relaxed);
    return true;
}

/* Small writes in between, which did not ask, are told with it. */
static void leave(bool has_entered)
{
    if (!has_entered)
        return;
    atomic_store_explicit(&burst.last_ns, clock_read(CLOCK_MONOTONIC), memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&burst.bytes, memory_order_relaxed);
    uint64_t told = atomic_exchange_explicit(&burst.told, bytes, memory_order_relaxed);
    coordinate_leave(bytes > told ? bytes - told : 0);
}

/* A list of parts that cannot be read is for the kernel to refuse. */
static uint64_t bytes_of(const struct iovec *parts, int count)
{
    struct iovec copy[16];
    uint64_t bytes = 0;
    int looked_at = count < 16 ? count : 16;
    if (looked_at <= 0 || !peek((uintptr_t)parts, copy, (size_t)looked_at * sizeof *copy))
        return 0;
    for (int i = 0; i < looked_at; i++)
        bytes += copy[i].iov_len;
    return bytes;
}

static ssize_t gate_write(int fd, const void *buf, size_t size)
{
    bool has_entered = enter(fd, size);
    ssize_t moved = wrapper_write(fd, buf, size);
    leave(has_entered);
    return moved;
}

static ssize_t gate_pwrite(int fd, const void *buf, size_t size, off_t offset)
{
    bool has_entered = enter(fd, size);
    ssize_t moved = wrapper_pwrite(fd, buf, size, offset);
    leave(has_entered);
    return moved;
}

static ssize_t gate_writev(int fd, const struct iovec *parts, int count)
{
    bool has_entered = enter(fd, bytes_of(parts, count));
    ssize_t moved = wrapper_writev(fd, parts, count);
    leave(has_entered);
    return moved;
}

static ssize_t gate_pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    bool has_entered = enter(fd, bytes_of(parts, count));
    ssize_t moved = wrapper_pwritev(fd, parts, count, offset);
    leave(has_entered);
    return moved;
}

/* After the engine's own constructor, which has read the settings. */
__attribute__((constructor)) static void begin(void)
{
    static const struct posix_writes gates = { gate_write, gate_pwrite, gate_writev, gate_pwritev };
    if (coordinate_is_on())
        posix_gate_writes(&gates);
}
