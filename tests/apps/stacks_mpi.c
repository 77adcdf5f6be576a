/* Rank 0 waits in a read that never ends, and the others for it in a barrier. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static void read_step(void)
{
    char byte;
    int ends[2];
    if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0)
        perror("read");
}

__attribute__((noinline)) static void solve(int rank)
{
    if (rank == 0)
        read_step();
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank;
    char byte;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int fd = open(argv[0], O_RDONLY);
    if (read(fd, &byte, 1) == 1)
        solve(rank);
    MPI_Finalize();
    return 0;
}
