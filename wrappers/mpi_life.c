/* MPI's beginning and end in C and Fortran: a process learns its rank. For the thread that initialises MPI. */
#include "mpi_call.h"
#include "mpi_fortran.h"

INTERPOSE_LIBRARY(int, MPI_Init, (int *arguments_count, char ***arguments))
{
    engine_prepare();
    struct mpi_call call = mpi_call_begin_as(OP_MPI_Init, MPI_CLASS_life);
    int error = MPI_REAL(MPI_Init)(arguments_count, arguments);
    mpi_call_end(&call);
    mpi_call_lived(&call);
    mpi_call_close(&call);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Init_thread, (int *arguments_count, char ***arguments, int required, int *provided))
{
    engine_prepare();
    struct mpi_call call = mpi_call_begin_as(OP_MPI_Init_thread, MPI_CLASS_life);
    int error = MPI_REAL(MPI_Init_thread)(arguments_count, arguments, required, provided);
    mpi_call_end(&call);
    mpi_call_lived(&call);
    mpi_call_close(&call);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Finalize, (void))
{
    struct mpi_call call = mpi_call_begin_as(OP_MPI_Finalize, MPI_CLASS_life);
    int error = MPI_REAL(MPI_Finalize)();
    mpi_call_end(&call);
    mpi_call_lived(&call);
    mpi_call_close(&call);
    return error;
}

/* C libraries too have an `mpi_init` or `mpi_finalize` of their own, with other arguments and a result: three words and the result pass
 * through as they are. */
typedef uintptr_t fortran_life(uintptr_t first, uintptr_t second, uintptr_t third);

static uintptr_t live(enum operation operation, fortran_life *real, uintptr_t first, uintptr_t second, uintptr_t third)
{
    engine_prepare();
    struct mpi_call call = mpi_call_begin_as(operation, MPI_CLASS_life);
    uintptr_t result = real(first, second, third);
    mpi_call_end(&call);
    mpi_call_lived(&call);
    mpi_call_close(&call);
    return result;
}

#define LIFE(operation, symbol) \
    INTERPOSE_LIBRARY(uintptr_t, symbol, (uintptr_t first, uintptr_t second, uintptr_t third)) \
    { \
        return live(OP_##operation, MPI_REAL(symbol), first, second, third); \
    }
FORTRAN(LIFE, MPI_Init, mpi_init, MPI_INIT)
FORTRAN(LIFE, MPI_Init_thread, mpi_init_thread, MPI_INIT_THREAD)
FORTRAN(LIFE, MPI_Finalize, mpi_finalize, MPI_FINALIZE)
