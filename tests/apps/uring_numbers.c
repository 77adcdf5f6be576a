/* io_uring without liburing: rings made, mapped and entered by the program. By syscall(), or with -DINLINE by instructions that no library sees;
 * with -DLEFT the rings are left to the end of the process, with -DLOST unmapped by an instruction too. */
#include "scenario.h"

#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/mman.h>

#ifdef INLINE
#define ENTER unseen_syscall
#else
#define ENTER syscall
#endif

enum { ENTRIES = 8, ROUNDS = 30, BLOCK = 3000 };
static char buffer[BLOCK];

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    scenario_begin();
    struct io_uring_params params = { 0 };
    int ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
    REQUIRE(ring >= 0);
    size_t sq_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned), sqe_bytes = params.sq_entries * sizeof(struct io_uring_sqe);
    size_t cq_bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    size_t ring_bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
    char *sq = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    char *cq = mmap(NULL, ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
    struct io_uring_sqe *sqes = mmap(NULL, sqe_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    REQUIRE(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED);
    unsigned *tail = (unsigned *)(sq + params.sq_off.tail), *array = (unsigned *)(sq + params.sq_off.array);
    unsigned *seen = (unsigned *)(cq + params.cq_off.head), mask = *(unsigned *)(sq + params.sq_off.ring_mask);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < ENTRIES; i++) {
            unsigned place = ENTRIES - 1 - i; /* entries need not be in order */
            sqes[place] = (struct io_uring_sqe){ .opcode = IORING_OP_WRITE, .fd = fd, .addr = (uintptr_t)buffer, .len = BLOCK,
                                                 .off = (uint64_t)i * BLOCK, .user_data = i };
            array[(*tail + i) & mask] = place;
        }
        __atomic_store_n(tail, *tail + ENTRIES, __ATOMIC_RELEASE);
        REQUIRE(ENTER(SYS_io_uring_enter, ring, ENTRIES, ENTRIES, IORING_ENTER_GETEVENTS, NULL, 0) == ENTRIES);
        __atomic_store_n(seen, *seen + ENTRIES, __ATOMIC_RELEASE);
    }
#if defined(LOST)
    unseen_syscall(SYS_munmap, sq, ring_bytes);
    unseen_syscall(SYS_munmap, cq, ring_bytes);
    unseen_syscall(SYS_munmap, sqes, sqe_bytes);
#elif !defined(LEFT)
    REQUIRE(munmap(sqes, sqe_bytes) == 0 && munmap(sq, ring_bytes) == 0 && munmap(cq, ring_bytes) == 0);
#endif
    close(ring);
    scenario_end();
    return 0;
}
