/* What wrappers of MPI's communication share. Each is `communication_begin`, the real function, `communication_stop`, `communication_count`, as
 * schema/communication.def says of it: the macros below are what its rows are made of. Each language says, before it takes in the rows, how a
 * numbered argument is read: COUNT_AT, INT_AT, TYPE_AT, COMMUNICATOR_AT. */
#ifndef SLICEWISE_MPI_COMMUNICATION_H
#define SLICEWISE_MPI_COMMUNICATION_H

#include "communication.h"
#include "interpose.h"
#include "mpi_library.h"
#include "words.h"

/* REAL for functions of MPI, wherever MPI was loaded. */
#define MPI_REAL(name) \
    (__builtin_expect(real_##name != NULL, 1) \
         ? real_##name \
         : (__typeof__(real_##name))mpi_library_look_up((void **)&real_##name, symbol_of_##name, __builtin_return_address(0)))

/* In the wrapper's own frame: from here to mpi_frame's being NULL a call of MPI is under way. Returns false if it lies within another one. */
static inline __attribute__((always_inline)) bool mpi_enter(void)
{
    struct thread *thread = &thread_state;
    if (__builtin_expect(thread->mpi_frame != NULL, 0) && communication_contains(__builtin_frame_address(0)))
        return false;
    thread->mpi_frame = __builtin_frame_address(0);
    thread->mpi_return = __builtin_return_address(0);
    return true;
}

struct communication {
    uint64_t start_tick, end_tick;
    bool is_counted;
};

static inline __attribute__((always_inline)) struct communication communication_begin(void)
{
    struct communication doing = { .is_counted = communication_is_on && mpi_enter() };
    if (doing.is_counted)
        doing.start_tick = tick_now();
    return doing;
}

/* Stops the clock. Returns whether the call is to be counted. */
static inline __attribute__((always_inline)) bool communication_stop(struct communication *doing)
{
    if (!doing->is_counted)
        return false;
    doing->end_tick = tick_now();
    thread_state.mpi_frame = NULL;
    return true;
}

/* A call that tells no bytes, in a body of its own. */
#define COMMUNICATED(class, call) \
    __extension__({ \
        struct communication doing = communication_begin(); \
        __typeof__(call) result = call; \
        if (communication_stop(&doing)) \
            communication_count(class, doing.start_tick, doing.end_tick, 0); \
        result; \
    })
#define COMMUNICATE(class, call) (void)COMMUNICATED(class, (call, 0))

/* Bytes that a call's arguments name. `peer`: less than 0 where there is none, and the other arguments may be anything. */
uint64_t mpi_bytes_of(mpi_count count, mpi_handle datatype, int peer);
uint64_t mpi_bytes_beside_root(mpi_count count, mpi_handle datatype, int root, mpi_handle communicator);
uint64_t mpi_bytes_to_each(mpi_count count, mpi_handle datatype, mpi_handle communicator);

#define NOTHING 0
#define ELEMENT(type, peer) mpi_bytes_of(1, TYPE_AT(type), INT_AT(peer))
#define ELEMENTS(count, type) mpi_bytes_of(COUNT_AT(count), TYPE_AT(type), 0)
#define TO_PEER(count, type, peer) mpi_bytes_of(COUNT_AT(count), TYPE_AT(type), INT_AT(peer))
#define FROM_ROOT(count, type, root) mpi_bytes_of(COUNT_AT(count), TYPE_AT(type), INT_AT(root))
#define BESIDE_ROOT(count, type, root, communicator) \
    mpi_bytes_beside_root(COUNT_AT(count), TYPE_AT(type), INT_AT(root), COMMUNICATOR_AT(communicator))
#define TO_EACH(count, type, communicator) mpi_bytes_to_each(COUNT_AT(count), TYPE_AT(type), COMMUNICATOR_AT(communicator))

#endif
