/* Levels of MPI_Pcontrol: mpi_control FILE */
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank;
    static const char zeros[1000];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int fd = open(argv[1], O_WRONLY | O_CREAT, 0600);
    MPI_Pcontrol(1); /* the standard's: profiling is on */
    for (int i = 0; i < 3; i++) {
        MPI_Pcontrol(1, "solve");
        if (pwrite(fd, zeros, 10 * (rank + 1), 0) < 0)
            return 1;
        MPI_Pcontrol(7);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(-7);
        MPI_Pcontrol(-1, "solve");
    }
    MPI_Pcontrol(0);
    MPI_Finalize();
    return 0;
}
