/* Requests of io_uring by liburing, compiled with -DSETUP=flags: writes and reads of several kinds, linked and unlinked, awaited one by one,
 * in batches, by completions that are there already, and one that fails, and one on a registered file. */
#include "scenario.h"

#include <liburing.h>

#ifndef SETUP
#define SETUP 0
#endif

enum { BLOCK = 5000, BLOCKS = 16, ROUNDS = 40 };
static char buffers[BLOCKS][BLOCK];

static int await_one(struct io_uring *ring)
{
    struct io_uring_cqe *entry;
    REQUIRE(io_uring_wait_cqe(ring, &entry) == 0);
    int result = entry->res;
    io_uring_cqe_seen(ring, entry);
    return result;
}

static void write_and_read(struct io_uring *ring, int fd, int round)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct io_uring_sqe *entry = io_uring_get_sqe(ring);
        io_uring_prep_write(entry, fd, buffers[i], BLOCK, (unsigned long long)i * BLOCK);
        io_uring_sqe_set_data64(entry, round % 2 == 0 ? (unsigned)i : 0); /* names need not be unique */
    }
    REQUIRE(io_uring_submit(ring) == BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        REQUIRE(await_one(ring) == BLOCK);
    struct iovec part = { buffers[0], 100 };
    struct io_uring_sqe *read = io_uring_get_sqe(ring), *sync = io_uring_get_sqe(ring);
    io_uring_prep_readv(read, fd, &part, 1, 0);
    io_uring_prep_fsync(sync, fd, 0);
    io_uring_sqe_set_data64(read, 100);
    io_uring_sqe_set_data64(sync, 101);
    REQUIRE(io_uring_submit_and_wait(ring, 2) == 2);
    struct io_uring_cqe *entries[2];
    REQUIRE(io_uring_peek_batch_cqe(ring, entries, 2) == 2 && entries[0]->res + entries[1]->res == 100);
    io_uring_cq_advance(ring, 2);
}

/* One write, and every function of the library that may submit it or learn that it is complete. */
static void submit_and_await(struct io_uring *ring, int fd)
{
    struct __kernel_timespec timeout = { .tv_sec = 100 };
    struct io_uring_cqe *entry;
    for (int way = 0; way < 4; way++) {
        io_uring_prep_write(io_uring_get_sqe(ring), fd, buffers[0], 10, 0);
        switch (way) {
        case 0: REQUIRE(io_uring_submit(ring) == 1 && io_uring_wait_cqes(ring, &entry, 1, NULL, NULL) == 0); break;
        case 1: REQUIRE(io_uring_submit(ring) == 1 && io_uring_wait_cqe_timeout(ring, &entry, &timeout) == 0); break;
        case 2: REQUIRE(io_uring_submit_and_wait_timeout(ring, &entry, 1, &timeout, NULL) >= 0 && io_uring_peek_cqe(ring, &entry) == 0); break;
        default:
            REQUIRE(io_uring_submit_and_get_events(ring) == 1);
            while (io_uring_peek_cqe(ring, &entry) != 0)
                REQUIRE(io_uring_get_events(ring) >= 0);
        }
        REQUIRE(entry->res == 10);
        io_uring_cqe_seen(ring, entry);
    }
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    struct io_uring ring;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    scenario_begin();
    REQUIRE(io_uring_queue_init(BLOCKS, &ring, SETUP) == 0);
    for (int round = 0; round < ROUNDS; round++)
        write_and_read(&ring, fd, round);
    submit_and_await(&ring, fd);
    io_uring_prep_read(io_uring_get_sqe(&ring), 9999, buffers[0], BLOCK, 0);
    struct io_uring_sqe *nothing = io_uring_get_sqe(&ring);
    io_uring_prep_nop(nothing);
    io_uring_sqe_set_data64(nothing, 102);
    REQUIRE(io_uring_submit(&ring) == 2 && await_one(&ring) + await_one(&ring) == -EBADF);
    io_uring_prep_read(io_uring_get_sqe(&ring), fd, buffers[0], BLOCK, (unsigned long long)BLOCK * BLOCKS - 77);
    REQUIRE(io_uring_submit(&ring) == 1 && await_one(&ring) == 77);
    REQUIRE(io_uring_register_files(&ring, &fd, 1) == 0);
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
    io_uring_prep_write(entry, 0, buffers[0], 55, 0);
    entry->flags |= IOSQE_FIXED_FILE;
    REQUIRE(io_uring_submit(&ring) == 1 && await_one(&ring) == 55);
    io_uring_queue_exit(&ring);
    scenario_end();
    return 0;
}
