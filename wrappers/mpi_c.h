/* What wrappers of MPI-IO in C share. */
#ifndef SLICEWISE_MPI_C_H
#define SLICEWISE_MPI_C_H

#include "mpi_call.h"

/* Each transfer has two functions. One counts in an int, of whose register only the lower half is defined, the other (`_c`) in an
 * MPI_Count. */
#define MPI_REAL_FOR_COUNT(name, count) ((__typeof__(real_##name))mpi_library_for_count((void *)MPI_REAL(name), count))

/* A caller that ignores the status of a read gets one of ours to fill. */
static inline void *status_for(const struct mpi_call *call, void *status, union mpi_status *own)
{
    return mpi_call_wants_status(call) && mpi_library_is_ignored(status) ? own : status;
}

/* A shape's body: `before` the call, and what `counts` it. */
#define MPI_BODY(shape, before, counts) \
    SHAPE(static, int, shape) \
    { \
        struct mpi_call call = mpi_call_begin(operation); \
        before; \
        int error = real(shape##_ARGUMENTS); \
        mpi_call_end(&call); \
        counts; \
        mpi_call_close(&call); \
        return error; \
    }
#define GET_STATUS \
    union mpi_status own = { 0 }; \
    status = status_for(&call, status, &own)

#define MPI_ENTRY(shape, operation, name) \
    INTERPOSE_LIBRARY(int, name, shape##_PARAMETERS) \
    { \
        return shape(OP_##operation, MPI_REAL(name), shape##_ARGUMENTS); \
    }

/* Of a shape with a `count`: for both functions. */
#define COUNT_ENTRY(shape, operation, name, width) \
    INTERPOSE_LIBRARY(int, name, shape##_PARAMETERS) \
    { \
        count = (width)count; \
        return shape(OP_##operation, MPI_REAL_FOR_COUNT(name, count), shape##_ARGUMENTS); \
    }
#define BOTH_COUNTS(shape, name) \
    COUNT_ENTRY(shape, name, name, int) \
    COUNT_ENTRY(shape, name, name##_c, mpi_count)

#endif
