/* libaio: each of its functions is a system call, and returns -errno. A program that takes completions out of the kernel's ring by itself
 * leaves its requests unclaimed. */
#include "libaio.h"

#include "interpose.h"
#include "peek.h"

static bool operation_of(const struct iocb *block, enum operation *operation)
{
    static const enum operation operations[] = {
        [IOCB_CMD_PREAD] = OP_libaio_read,   [IOCB_CMD_PREADV] = OP_libaio_read, [IOCB_CMD_PWRITE] = OP_libaio_write,
        [IOCB_CMD_PWRITEV] = OP_libaio_write, [IOCB_CMD_FSYNC] = OP_libaio_sync,  [IOCB_CMD_FDSYNC] = OP_libaio_sync,
    };
    unsigned command = block->aio_lio_opcode;
    if (command >= sizeof operations / sizeof *operations || operations[command] == 0)
        return false;
    *operation = operations[command];
    return true;
}

/* The kernel stops at the first block that it cannot read, and so do we. */
long libaio_begin(const struct call *call, long count, struct iocb *const *blocks)
{
    enum operation operation;
    struct peek_pages pages = { 0 };
    for (long i = 0; i < count; i++) {
        if (!peek_can_read(&pages, &blocks[i], sizeof *blocks) || !peek_can_read(&pages, blocks[i], sizeof **blocks))
            return i;
        request_drop(request_of_block(blocks[i]));
        if (operation_of(blocks[i], &operation))
            request_begin(request_of_block(blocks[i]), operation, call, (int)blocks[i]->aio_fildes, blocks[i]->aio_offset);
    }
    return count;
}

void libaio_submitted(const struct call *call, long begun, struct iocb *const *blocks, long submitted)
{
    struct peek_pages pages = { 0 };
    bool is_readable = submitted > 0 || (begun > 0 && peek_can_read(&pages, blocks, (size_t)begun * sizeof *blocks));
    for (long i = submitted > 0 ? submitted : 0; is_readable && i < begun; i++)
        request_drop(request_of_block(blocks[i]));
    is_readable = submitted > 0 || (is_readable && peek_can_read(&pages, blocks[0], sizeof **blocks));
    call_touched(call, is_readable ? (int)blocks[0]->aio_fildes : -1, submitted < 0);
}

void libaio_reaped(const struct call *call, const struct io_event *events, long reaped)
{
    descriptor first = 0;
    for (long i = 0; i < reaped; i++) {
        descriptor word = request_done(events[i].obj, call, events[i].res);
        first = first != 0 ? first : word;
    }
    call_touched_descriptor(call, first, reaped < 0);
}

INTERPOSE_LIBRARY(int, io_submit, (aio_context_t context, long count, struct iocb **blocks))
{
    struct call call = call_begin(OP_io_submit);
    long begun = libaio_begin(&call, count, blocks);
    thread_state.library_depth++;
    int submitted = REAL_NEAR(io_submit)(context, count, blocks);
    thread_state.library_depth--;
    call_end(&call);
    libaio_submitted(&call, begun, blocks, submitted);
    call_close(&call);
    return submitted;
}

#define REAP(name, parameters, ...) \
    INTERPOSE_LIBRARY(int, name, parameters) \
    { \
        struct call call = call_begin(OP_io_getevents); \
        thread_state.library_depth++; \
        int reaped = REAL_NEAR(name)(__VA_ARGS__); \
        thread_state.library_depth--; \
        call_end(&call); \
        libaio_reaped(&call, events, reaped); \
        call_close(&call); \
        return reaped; \
    }
REAP(io_getevents, (aio_context_t context, long least, long most, struct io_event *events, struct timespec *timeout), context, least, most, events,
     timeout)
REAP(io_pgetevents, (aio_context_t context, long least, long most, struct io_event *events, struct timespec *timeout, sigset_t *signals), context,
     least, most, events, timeout, signals)
