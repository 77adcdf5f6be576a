/* A call of MPI, in C or Fortran: counted if it is the thread's outermost one, for one often lands in another (a Fortran routine in the C
 * one, a collective in independent ones). Used as engine.h's calls are: `mpi_call_begin`, the real function, `mpi_call_end`, one that says
 * what it did, `mpi_call_close`. `error` is MPI's: 0 for success. */
#ifndef SLICEWISE_MPI_CALL_H
#define SLICEWISE_MPI_CALL_H

#include "mpi_communication.h"

struct mpi_call {
    struct call call;
    enum mpi_class class; /* as what it is counted, whatever it did */
    bool is_outermost, is_counted;
};

static inline __attribute__((always_inline)) struct mpi_call mpi_call_begin_as(enum operation operation, enum mpi_class class)
{
    bool is_outermost = mpi_enter();
    struct mpi_call call = { .call = call_begin(operation),
                             .class = class,
                             .is_outermost = is_outermost,
                             .is_counted = is_outermost && atomic_load_explicit(engine_switch, memory_order_relaxed) != ENGINE_OFF };
    if (is_outermost && communication_is_on)
        communication_open(class, call.call.start_tick);
    return call;
}

static inline __attribute__((always_inline)) struct mpi_call mpi_call_begin(enum operation operation)
{
    return mpi_call_begin_as(operation, MPI_CLASS_file);
}

static inline void mpi_call_end(struct mpi_call *call)
{
    call_end(&call->call);
    if (call->is_outermost)
        thread_state.mpi_frame = NULL;
}

static inline void mpi_call_close(const struct mpi_call *call)
{
    if (call->is_counted && communication_is_on)
        communication_close(call->class, call->call.start_tick, call->call.end_tick);
    call_close(&call->call);
}

/* Whether it needs a status, one of ours if the caller ignores its own, to tell what it moved: a read that is counted. */
bool mpi_call_wants_status(const struct mpi_call *call);

/* It read or wrote `count` elements. `status` (C's) tells what a read found; NULL where it was ignored. */
void mpi_call_moved(const struct mpi_call *call, mpi_handle file, mpi_count count, mpi_handle datatype, const void *status, int error);
void mpi_call_touched(const struct mpi_call *call, mpi_handle file, int error);

/* It opened the file that `name` names, with a prefix that chooses a driver (`ufs:`), if the program likes. */
void mpi_call_opened(const struct mpi_call *call, const char *name, mpi_handle file, int error);
/* It closed a file that lay on `mount`. */
void mpi_call_closed(const struct mpi_call *call, uint32_t mount, int error);

/* It worked on a file by its name. */
void mpi_call_named(const struct mpi_call *call, const char *name, int error);

/* It began a transfer that another call completes: a request (a key of 0: none that can be told from others), or a split collective. The
 * transfer is counted when that is done. */
void mpi_call_began(const struct mpi_call *call, mpi_handle file, uint64_t key, mpi_count count, mpi_handle datatype, int error);
void mpi_call_completed_split(const struct mpi_call *call, mpi_handle file, const void *status, int error);

/* A shape of functions has SHAPE_PARAMETERS and SHAPE_ARGUMENTS, one body for all that differ by their names, and an entry for each of those. */
#define IN_LIST(...) __VA_ARGS__
#define WITHOUT_PARENTHESES(list) IN_LIST list
#define SHAPE(linkage, result, shape) \
    typedef result shape##_function shape##_PARAMETERS; \
    linkage result shape(enum operation operation, shape##_function *real, WITHOUT_PARENTHESES(shape##_PARAMETERS))

/* MPI began or ended. */
void mpi_call_lived(const struct mpi_call *call);

#endif
