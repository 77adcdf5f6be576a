/* A tool of MPI's profiling interface, as mpiP and Score-P are: a shared library whose functions of MPI count and call MPI's by their names with a P.
 * At MPI_Finalize it prints a line on standard output with how many calls of each it saw. */
#include <mpi.h>
#include <stdio.h>

static long sends, receives, reductions, barriers, waits;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator)
{
    sends++;
    return PMPI_Send(buffer, count, type, peer, tag, communicator);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm communicator, MPI_Status *status)
{
    receives++;
    return PMPI_Recv(buffer, count, type, peer, tag, communicator, status);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm communicator)
{
    reductions++;
    return PMPI_Allreduce(from, to, count, type, operation, communicator);
}

int MPI_Barrier(MPI_Comm communicator)
{
    barriers++;
    return PMPI_Barrier(communicator);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    waits++;
    return PMPI_Wait(request, status);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("tool of rank %d: sends %ld receives %ld reductions %ld barriers %ld waits %ld\n", rank, sends, receives, reductions, barriers, waits);
    fflush(stdout);
    return PMPI_Finalize();
}
