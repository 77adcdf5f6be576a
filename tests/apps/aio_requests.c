/* POSIX aio in all its ways: single requests awaited and polled, lists that wait and that do not, one that fails, one that cannot be
 * submitted, one whose error alone is asked for, and those that nobody asks about: at the end, and before their block is used anew. With
 * -DNAMES_64 by the explicit 64-bit names. */
#include "scenario.h"

#include <aio.h>
#include <time.h>

#ifdef NAMES_64
#define aiocb aiocb64
#define aio_read aio_read64
#define aio_write aio_write64
#define aio_fsync aio_fsync64
#define aio_return aio_return64
#define aio_error aio_error64
#define aio_suspend aio_suspend64
#define lio_listio lio_listio64
#endif

enum { BLOCK = 10000, BLOCKS = 8 };
static char buffers[BLOCKS][BLOCK];

static struct aiocb request(int fd, int number)
{
    return (struct aiocb){ .aio_fildes = fd, .aio_buf = buffers[number], .aio_nbytes = BLOCK, .aio_offset = (off_t)number * BLOCK };
}

static ssize_t await(struct aiocb *block)
{
    const struct aiocb *list[] = { NULL, block };
    while (aio_error(block) == EINPROGRESS)
        REQUIRE(aio_suspend(list, 2, NULL) == 0);
    return aio_return(block);
}

static void go_through_list(int fd, int mode, int opcode)
{
    struct aiocb blocks[BLOCKS], *list[BLOCKS + 1] = { NULL };
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = request(fd, i);
        blocks[i].aio_lio_opcode = opcode;
        list[i + 1] = &blocks[i];
    }
    REQUIRE(lio_listio(mode, list, BLOCKS + 1, NULL) == 0);
    for (int i = 0; i < BLOCKS; i++)
        REQUIRE(await(&blocks[i]) == BLOCK);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    scenario_begin();
    for (int i = 0; i < BLOCKS; i++) {
        struct aiocb block = request(fd, i);
        REQUIRE(aio_write(&block) == 0 && await(&block) == BLOCK);
    }
    struct aiocb sync = request(fd, 0);
    REQUIRE(aio_fsync(O_SYNC, &sync) == 0 && await(&sync) == 0);
    struct aiocb last = request(fd, BLOCKS);
    last.aio_offset -= BLOCK / 2;
    last.aio_buf = buffers[0];
    REQUIRE(aio_read(&last) == 0 && await(&last) == BLOCK / 2);
    go_through_list(fd, LIO_WAIT, LIO_WRITE);
    go_through_list(fd, LIO_NOWAIT, LIO_READ);
    struct aiocb polled = request(fd, 1), reused = request(fd, 2);
    const struct aiocb *polled_list[] = { &polled }, *reused_list[] = { &reused };
    REQUIRE(aio_write(&polled) == 0);
    while (aio_error(&polled) == EINPROGRESS)
        REQUIRE(aio_suspend(polled_list, 1, NULL) == 0);
    REQUIRE(aio_error(&polled) == 0);
    REQUIRE(aio_write(&reused) == 0 && aio_suspend(reused_list, 1, NULL) == 0);
    REQUIRE(aio_write(&reused) == 0 && await(&reused) == BLOCK);
    struct aiocb failing = request(-1, 0), wrong = request(fd, 0), forgotten = request(fd, 0);
    REQUIRE(aio_read(&failing) == 0 && aio_error(&failing) != 0 && await(&failing) == -1);
    wrong.aio_reqprio = -1;
    REQUIRE(aio_read(&wrong) == -1 && errno == EINVAL);
    REQUIRE(aio_write(&forgotten) == 0);
    scenario_end();
    const struct timespec a_moment = { .tv_nsec = 50000000 };
    nanosleep(&a_moment, NULL);
    return 0;
}
