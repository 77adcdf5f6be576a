/* The kernel's asynchronous requests by libaio's functions, or with -DBY_NUMBER by system calls: a batch of writes, a sync, a batch of reads
 * of which one is short, and batches of which the kernel takes only the beginning or nothing. */
#include "scenario.h"

#include <linux/aio_abi.h>
#include <stdint.h>

#ifdef BY_NUMBER
#define io_setup(count, context) (int)syscall(SYS_io_setup, count, context)
#define io_submit(context, count, blocks) (int)syscall(SYS_io_submit, context, count, blocks)
#define io_getevents(context, least, most, events, timeout) (int)syscall(SYS_io_getevents, context, least, most, events, timeout)
#define io_pgetevents(context, least, most, events, timeout, signals) \
    (int)syscall(SYS_io_pgetevents, context, least, most, events, timeout, signals)
#else
int io_setup(int count, aio_context_t *context);
int io_submit(aio_context_t context, long count, struct iocb **blocks);
int io_getevents(aio_context_t context, long least, long most, struct io_event *events, struct timespec *timeout);
int io_pgetevents(aio_context_t context, long least, long most, struct io_event *events, struct timespec *timeout, void *signals);
#endif

enum { BLOCK = 8192, BLOCKS = 16 };
static char buffers[BLOCKS][BLOCK] __attribute__((aligned(4096)));
static struct iocb blocks[BLOCKS];
static struct iocb *list[BLOCKS];

static void prepare(int fd, int command)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = (struct iocb){ .aio_fildes = (unsigned)fd, .aio_lio_opcode = (unsigned short)command, .aio_buf = (uintptr_t)buffers[i],
                                   .aio_nbytes = BLOCK, .aio_offset = (long long)i * BLOCK };
        list[i] = &blocks[i];
    }
}

static long reap(aio_context_t context, int count)
{
    struct io_event events[BLOCKS];
    long moved = 0;
    REQUIRE(io_getevents(context, count, BLOCKS, events, NULL) == count);
    for (int i = 0; i < count; i++)
        moved += events[i].res;
    return moved;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    aio_context_t context = 0;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    scenario_begin();
    REQUIRE(io_setup(64, &context) == 0);
    prepare(fd, IOCB_CMD_PWRITE);
    REQUIRE(io_submit(context, BLOCKS, list) == BLOCKS && reap(context, BLOCKS) == BLOCKS * BLOCK);
    prepare(fd, IOCB_CMD_FDSYNC);
    blocks[0].aio_buf = blocks[0].aio_nbytes = 0;
    blocks[0].aio_offset = 0;
    struct io_event synced;
    REQUIRE(io_submit(context, 1, list) == 1 && io_pgetevents(context, 1, 1, &synced, NULL, NULL) == 1 && synced.res == 0);
    prepare(fd, IOCB_CMD_PREAD);
    blocks[3].aio_offset = BLOCKS * BLOCK - 100;
    REQUIRE(io_submit(context, BLOCKS, list) == BLOCKS && reap(context, BLOCKS) == (BLOCKS - 1) * BLOCK + 100);
    blocks[5].aio_fildes = 9999; /* those before it are taken */
    REQUIRE(io_submit(context, BLOCKS, list) == 5 && reap(context, 5) == 4 * BLOCK + 100);
    REQUIRE(io_submit(context, 1, list + 5) < 0);
    scenario_end();
    return 0;
}
