#include "mpi_copy.h"

#include "coordinate.h"

static struct {
    mpi_handle byte;
    const void *status_ignore;
    int (*comm_idup)(mpi_handle, mpi_handle *, mpi_handle *);
    int (*comm_free)(mpi_handle *);
    int (*test)(mpi_handle *, int *, void *);
    int (*ibcast)(void *, int, mpi_handle, int, mpi_handle, mpi_handle *);
} library;

/* By their PMPI names, so that other tools do not see our messages as the program's. Threads that come at once find the same. */
static bool learn(void)
{
    library.comm_idup = profiler->mpi_find("PMPI_Comm_idup");
    library.comm_free = profiler->mpi_find("PMPI_Comm_free");
    library.test = profiler->mpi_find("PMPI_Test");
    library.ibcast = profiler->mpi_find("PMPI_Ibcast");
    return profiler->mpi_constants(&library.byte, &library.status_ignore) && library.comm_idup != NULL && library.comm_free != NULL &&
           library.test != NULL && library.ibcast != NULL;
}

bool mpi_copy_begin(mpi_handle communicator, mpi_handle *copy, mpi_handle *request)
{
    return learn() && library.comm_idup(communicator, copy, request) == 0;
}

bool mpi_copy_is_done(mpi_handle *request)
{
    int is_done = 0;
    return library.test(request, &is_done, (void *)(uintptr_t)library.status_ignore) == 0 && is_done;
}

bool mpi_copy_begin_telling(mpi_handle communicator, uint64_t *number, mpi_handle *request)
{
    return library.ibcast(number, sizeof *number, library.byte, 0, communicator, request) == 0;
}

void mpi_copy_free(mpi_handle communicator)
{
    library.comm_free(&communicator);
}
