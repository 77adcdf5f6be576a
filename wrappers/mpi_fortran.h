/* What wrappers of Fortran routines share, and their linkage. Compilers name a routine in one of four ways, the module mpi_f08 in a fifth, and
 * each name stands in front of its own real function. ENTRY(operation, symbol) is a macro that defines one. */
#ifndef SLICEWISE_MPI_FORTRAN_H
#define SLICEWISE_MPI_FORTRAN_H

#include "mpi_call.h"

#ifdef __clang_analyzer__ /* all five are alike but for their names, and each is followed through its whole call again */
#define FORTRAN(ENTRY, operation, lower, UPPER) ENTRY(operation, lower##_)
#else
#define FORTRAN(ENTRY, operation, lower, UPPER) \
    ENTRY(operation, lower) \
    ENTRY(operation, lower##_) \
    ENTRY(operation, lower##__) \
    ENTRY(operation, UPPER) \
    ENTRY(operation, lower##_f08_)
#endif

/* The same of a shape. */
#define SHAPE_ENTRY(shape, operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, shape##_PARAMETERS) \
    { \
        shape(OP_##operation, MPI_REAL(symbol), shape##_ARGUMENTS); \
    }
#ifdef __clang_analyzer__
#define FORTRAN_OF(ENTRY, shape, operation, lower, UPPER) ENTRY(shape, operation, lower##_)
#else
#define FORTRAN_OF(ENTRY, shape, operation, lower, UPPER) \
    ENTRY(shape, operation, lower) \
    ENTRY(shape, operation, lower##_) \
    ENTRY(shape, operation, lower##__) \
    ENTRY(shape, operation, UPPER) \
    ENTRY(shape, operation, lower##_f08_)
#endif

/* mpi_f08 may leave the error out. */
#define OWN_ERROR \
    fortran_int own_error; \
    error = error != NULL ? error : &own_error

/* A shape's body: `before` the call, and what `counts` it. */
#define MPI_BODY(shape, before, counts) \
    SHAPE(static, void, shape) \
    { \
        OWN_ERROR; \
        struct mpi_call call = mpi_call_begin(operation); \
        before; \
        real(shape##_ARGUMENTS); \
        mpi_call_end(&call); \
        counts; \
        mpi_call_close(&call); \
    }
#define GET_STATUS \
    union mpi_status own = { 0 }; \
    status = status_for(&call, status, &own)

static inline mpi_handle file_of(const struct mpi_call *call, const fortran_int *file)
{
    return call->is_counted ? mpi_library_file(*file) : NULL;
}

/* A caller that ignores the status of a read gets one of ours to fill. */
static inline fortran_int *status_for(const struct mpi_call *call, fortran_int *status, union mpi_status *own)
{
    return mpi_call_wants_status(call) && mpi_library_is_ignored_in_fortran(status) ? own->fortran : status;
}

/* What it was passed as status, in C; NULL where that is not needed or there is none. */
static inline const void *status_in_c(const struct mpi_call *call, const fortran_int *status, union mpi_status *in_c)
{
    /* The library may have learnt what an ignored status is in this very call, its first in Fortran. */
    if (!mpi_call_wants_status(call) || mpi_library_is_ignored_in_fortran(status))
        return NULL;
    return mpi_library_status(status, in_c) ? in_c : NULL;
}

#endif
