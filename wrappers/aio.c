/* POSIX aio. libc's threads do the work where nobody sees it; so a request is counted, with the time from its submission to the first call
 * that told of its completion, when its result is asked for (`aio_return`, or `aio_error` once it has one). */
#include "interpose.h"
#include "peek.h"
#include "request.h"

#include <aio.h>

static void begin(enum operation operation, const struct call *call, const struct aiocb *block)
{
    request_abandon(request_of_block(block)); /* an earlier one that nobody asked about */
    request_begin(request_of_block(block), operation, call, block->aio_fildes, operation == OP_aio_fsync ? NO_OFFSET : block->aio_offset);
}

/* One that could not be submitted fails at once. */
static void submitted(const struct call *call, const struct aiocb *block, bool is_error)
{
    if (is_error)
        request_done(request_of_block(block), call, -1);
}

INTERPOSE(int, aio_read, (struct aiocb *block))
{
    struct call call = call_begin(OP_aio_read);
    begin(OP_aio_read, &call, block);
    int failed = REAL(aio_read)(block);
    call_end(&call);
    submitted(&call, block, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(aio_read64, aio_read); /* off_t is 64 bits wherever we build */

INTERPOSE(int, aio_write, (struct aiocb *block))
{
    struct call call = call_begin(OP_aio_write);
    begin(OP_aio_write, &call, block);
    int failed = REAL(aio_write)(block);
    call_end(&call);
    submitted(&call, block, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(aio_write64, aio_write);

/* libc looks at the block of a known operation alone. */
INTERPOSE(int, aio_fsync, (int operation, struct aiocb *block))
{
    bool is_known = operation == O_SYNC || operation == O_DSYNC;
    struct call call = call_begin(OP_aio_fsync);
    if (is_known)
        begin(OP_aio_fsync, &call, block);
    int failed = REAL(aio_fsync)(operation, block);
    call_end(&call);
    submitted(&call, block, is_known && failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(aio_fsync64, aio_fsync);

INTERPOSE(ssize_t, aio_return, (struct aiocb *block))
{
    struct call call = call_begin(OP_aio_return);
    ssize_t moved = REAL(aio_return)(block);
    call_end(&call);
    request_done(request_of_block(block), &call, moved);
    call_lived(&call);
    call_close(&call);
    return moved;
}
SAME_AS(aio_return64, aio_return);

/* One that is complete has its result, which libc gives as often as it is asked: many programs never do. */
INTERPOSE(int, aio_error, (const struct aiocb *block))
{
    struct call call = call_begin(OP_aio_error);
    int error = REAL(aio_error)(block);
    call_end(&call);
    if (error != EINPROGRESS)
        request_done(request_of_block(block), &call, error == 0 ? REAL(aio_return)((struct aiocb *)block) : -1);
    call_lived(&call);
    call_close(&call);
    return error;
}
SAME_AS(aio_error64, aio_error);

static bool is_transfer(const struct aiocb *block)
{
    return block != NULL && (block->aio_lio_opcode == LIO_READ || block->aio_lio_opcode == LIO_WRITE);
}

/* A list that the caller waited for: not all programs ask for results then. To read one takes nothing from the program, which may still ask. */
static void awaited(const struct call *call, struct aiocb *const list[], int count)
{
    for (int i = 0; i < count; i++) {
        int error = is_transfer(list[i]) ? REAL(aio_error)(list[i]) : EINPROGRESS;
        if (error != EINPROGRESS)
            request_done(request_of_block(list[i]), call, error == 0 ? REAL(aio_return)(list[i]) : -1);
    }
}

/* libc looks at the list in a known mode alone. */
INTERPOSE(int, lio_listio, (int mode, struct aiocb *const list[], int count, struct sigevent *notice))
{
    struct call call = call_begin(OP_lio_listio);
    int known = mode == LIO_WAIT || mode == LIO_NOWAIT ? count : 0;
    for (int i = 0; i < known; i++)
        if (is_transfer(list[i]))
            begin(list[i]->aio_lio_opcode == LIO_READ ? OP_aio_read : OP_aio_write, &call, list[i]);
    int failed = REAL(lio_listio)(mode, list, count, notice);
    call_end(&call);
    if (mode == LIO_WAIT)
        awaited(&call, list, count);
    call_touched(&call, known > 0 && list[0] != NULL ? list[0]->aio_fildes : -1, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(lio_listio64, lio_listio);

INTERPOSE(int, aio_suspend, (const struct aiocb *const list[], int count, const struct timespec *timeout))
{
    struct call call = call_begin(OP_aio_suspend);
    int failed = REAL(aio_suspend)(list, count, timeout);
    call_end(&call);
    int fd = -1;
    struct peek_pages pages = { 0 }; /* libc looks no further than to the first one that is complete */
    for (int i = 0; i < count && peek_can_read(&pages, &list[i], sizeof *list); i++) {
        if (!peek_can_read(&pages, list[i], sizeof *list[i]))
            continue;
        fd = list[i]->aio_fildes;
        if (REAL(aio_error)(list[i]) != EINPROGRESS)
            request_noticed(request_of_block(list[i]), call.end_tick);
    }
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(aio_suspend64, aio_suspend);
