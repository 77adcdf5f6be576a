/* liburing's exported functions: those that submit, those that wait. What its header does inline (taking a completion that is there,
 * preparing a submission) needs no wrapper: io_uring.c finds it in the rings. */
#include "io_uring.h"

#include "interpose.h"

/* A function that enters the kernel for a ring. */
#define ENTERS(type, name, parameters, arguments) \
    INTERPOSE_LIBRARY(type, name, parameters) \
    { \
        struct call call = call_begin(OP_io_uring_enter); \
        uring_begin_on(&call, ring); \
        thread_state.library_depth++; \
        type result = REAL_NEAR(name) arguments; /* NOLINT(bugprone-macro-parentheses): a list in parentheses */ \
        thread_state.library_depth--; \
        call_end(&call); \
        uring_entered_on(&call, ring, (int)result); \
        call_close(&call); \
        return result; \
    }

ENTERS(int, io_uring_submit, (struct liburing_ring *ring), (ring))
ENTERS(int, io_uring_submit_and_wait, (struct liburing_ring *ring, unsigned count), (ring, count))
ENTERS(int, io_uring_submit_and_wait_timeout, (struct liburing_ring *ring, void **entry, unsigned count, void *timeout, void *signals),
       (ring, entry, count, timeout, signals))
ENTERS(int, io_uring_submit_and_get_events, (struct liburing_ring *ring), (ring))
ENTERS(int, io_uring_get_events, (struct liburing_ring *ring), (ring))
ENTERS(int, __io_uring_get_cqe, (struct liburing_ring *ring, void **entry, unsigned submit, unsigned count, void *signals),
       (ring, entry, submit, count, signals))
ENTERS(int, io_uring_wait_cqes, (struct liburing_ring *ring, void **entry, unsigned count, void *timeout, void *signals),
       (ring, entry, count, timeout, signals))
ENTERS(int, io_uring_wait_cqe_timeout, (struct liburing_ring *ring, void **entry, void *timeout), (ring, entry, timeout))
ENTERS(unsigned, io_uring_peek_batch_cqe, (struct liburing_ring *ring, void **entries, unsigned count), (ring, entries, count))

INTERPOSE_LIBRARY(int, io_uring_register_files, (struct liburing_ring *ring, const int *files, unsigned count))
{
    struct call call = call_begin(OP_io_uring_setup);
    int result = REAL_NEAR(io_uring_register_files)(ring, files, count);
    call_end(&call);
    if (result >= 0)
        uring_registered_on(ring, files, count);
    call_lived(&call);
    call_close(&call);
    return result;
}

INTERPOSE_LIBRARY(void, io_uring_queue_exit, (struct liburing_ring * ring))
{
    uring_exits_on(ring);
    REAL_NEAR(io_uring_queue_exit)(ring);
}
