#include "burst.h"

#include "coordinate.h"
#include "mpi_turns.h"

#define PAUSE_NS 1000000000ull /* the end of a burst */
#define STEP_NS 50000000ull    /* small transfers ask again after so long, */
enum { STEP_BYTES = 1 << 20 }; /* large ones each time */

static struct {
    _Atomic uint64_t bytes, told, last_ns, asked_ns; /* told: how many of the bytes the coordinator was told of as moved */
    _Atomic uint64_t kept_word; /* what the turn is kept for until it is closed, where a file is what takes turns; 0: nothing */
    _Atomic int kept_fd;
    _Atomic uint32_t kept_by; /* the process: not its children */
} burst;

/* As the table has it: a descriptor's first transfer, before anybody has looked at it, passes. Returns 0 where it is no file. */
static descriptor word_of_file(int fd)
{
    descriptor word = profiler->descriptor_word(fd);
    return word != 0 && (enum object)(word >> 8 & 0xf) == OBJECT_file ? word : 0;
}

static bool has_pass_of_mpi(void)
{
    return profiler->mpi_frame() != NULL && turn_thread.within == MPI_TURNS_PASS;
}

/* Whether the turn is kept for a file that is still open. */
static bool is_kept(void)
{
    uint64_t word = atomic_load_explicit(&burst.kept_word, memory_order_acquire);
    if (word == 0 || atomic_load(&burst.kept_by) != (uint32_t)raw_getpid())
        return false;
    if (profiler->descriptor_word(atomic_load(&burst.kept_fd)) == word)
        return true;
    if (atomic_compare_exchange_strong(&burst.kept_word, &word, 0)) /* closed unseen: by dup2, or by closing all */
        coordinate_end();
    return false;
}

static void keep(int fd, descriptor word)
{
    atomic_store(&burst.kept_fd, fd);
    atomic_store(&burst.kept_by, (uint32_t)raw_getpid());
    atomic_store_explicit(&burst.kept_word, word, memory_order_release);
}

/* Its last transfers are told, too: by how much this phase moved, the next one is judged beforehand. */
static void end_burst(void)
{
    uint64_t bytes = atomic_exchange_explicit(&burst.bytes, 0, memory_order_relaxed);
    uint64_t told = atomic_exchange_explicit(&burst.told, 0, memory_order_relaxed);
    if (bytes > told)
        coordinate_moved(bytes - told);
}

/* Adds to the burst. Returns whether it is one by now, and others are to get their turn here. */
static bool is_due(uint64_t bytes, uint64_t now)
{
    uint64_t last = atomic_exchange_explicit(&burst.last_ns, now, memory_order_relaxed);
    if (now - last > PAUSE_NS && now > last)
        end_burst();
    uint64_t so_far = atomic_fetch_add_explicit(&burst.bytes, bytes, memory_order_relaxed) + bytes;
    return so_far >= coordinate_burst_bytes() &&
           (bytes >= STEP_BYTES || now - atomic_load_explicit(&burst.asked_ns, memory_order_relaxed) >= STEP_NS);
}

static void ask(uint64_t bytes, uint32_t processes, uint64_t now)
{
    uint64_t waited = coordinate_enter(bytes, processes);
    if (profiler->mpi_frame() != NULL)
        turn_thread.waited_ns += waited;
    now += waited;
    atomic_store_explicit(&burst.last_ns, now, memory_order_relaxed);
    atomic_store_explicit(&burst.asked_ns, now, memory_order_relaxed);
}

enum burst burst_enter(int fd, uint64_t bytes)
{
    descriptor word = word_of_file(fd);
    uint64_t burst_bytes = coordinate_burst_bytes(), now;
    if (word == 0 || has_pass_of_mpi() || !coordinate_is_on())
        return BURST_PASSED;
    bool is_round = profiler->mpi_frame() != NULL && turn_thread.within >= MPI_TURNS_ROUND;
    if (is_round)
        atomic_fetch_add_explicit(&burst.told, bytes, memory_order_relaxed);
    now = clock_read(CLOCK_MONOTONIC);
    if (!is_due(bytes, now))
        return is_round ? BURST_PASSED : BURST_COUNTED;
    if (is_round) {
        bool is_told_of = turn_thread.within == MPI_TURNS_OWN_ROUND;
        ask(is_told_of ? bytes : 1, 0, now);
        return is_told_of ? BURST_PASSED : BURST_IN_ROUND;
    }
    if (is_kept())
        return BURST_ENTERED;
    ask(bytes > burst_bytes ? bytes : burst_bytes, 1, now);
    if (coordinate_step() == TURN_STEP_file)
        keep(fd, word);
    return BURST_ENTERED;
}

/* What was asked for and not moved (a read at a file's end, a full disk) was no part of it. */
static void take_back(uint64_t bytes)
{
    uint64_t counted = atomic_load_explicit(&burst.bytes, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&burst.bytes, &counted, counted > bytes ? counted - bytes : 0))
        ;
}

/* Small transfers in between, which did not ask, are told with it. */
void burst_leave(enum burst entered, uint64_t asked, int64_t moved)
{
    uint64_t done = moved > 0 ? (uint64_t)moved : 0;
    if ((entered == BURST_COUNTED || entered == BURST_ENTERED) && done < asked)
        take_back(asked - done);
    if (entered == BURST_PASSED || entered == BURST_COUNTED)
        return;
    atomic_store_explicit(&burst.last_ns, clock_read(CLOCK_MONOTONIC), memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&burst.bytes, memory_order_relaxed);
    uint64_t told = atomic_exchange_explicit(&burst.told, bytes, memory_order_relaxed);
    uint64_t untold = bytes > told ? bytes - told : 0;
    if (coordinate_step() == TURN_STEP_file)
        coordinate_moved(untold);
    else
        coordinate_leave(untold);
}

void burst_passed(int fd, int64_t bytes)
{
    if (bytes > 0)
        burst_leave(burst_enter(fd, (uint64_t)bytes), (uint64_t)bytes, bytes);
}

void burst_closing(int fd)
{
    uint64_t word = atomic_load_explicit(&burst.kept_word, memory_order_acquire);
    bool is_ours = word != 0 && atomic_load(&burst.kept_fd) == fd && atomic_load(&burst.kept_by) == (uint32_t)raw_getpid();
    if (is_ours && atomic_compare_exchange_strong(&burst.kept_word, &word, 0))
        coordinate_end();
}
