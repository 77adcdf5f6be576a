/* What a benchmark of POSIX I/O at its worst does: every rank writes and reads a file of its own in blocks of 4 KiB.
 *     ior_like BLOCKS DIR     rank 0 prints the seconds of the I/O, from barrier to barrier, and the ms of MPI_Finalize */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096, BLOCKS_A_FILE = 4096 };

static double now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    static char block[BLOCK_BYTES];
    char path[4096];
    int rank;
    if (argc != 3) {
        fprintf(stderr, "usage: ior_like BLOCKS DIR\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/ior.%d", argv[2], rank);
    int fd = open(path, O_RDWR | O_CREAT, 0600), is_right = fd >= 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double began = now();
    for (int i = 0, blocks = atoi(argv[1]); i < blocks; i++)
        is_right &= pwrite(fd, block, BLOCK_BYTES, (off_t)(i % BLOCKS_A_FILE) * BLOCK_BYTES) == BLOCK_BYTES;
    for (int i = 0, blocks = atoi(argv[1]); i < blocks; i++)
        is_right &= pread(fd, block, BLOCK_BYTES, (off_t)(i % BLOCKS_A_FILE) * BLOCK_BYTES) == BLOCK_BYTES;
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = now() - began;
    close(fd);
    unlink(path);
    if (!is_right)
        MPI_Abort(MPI_COMM_WORLD, 1);
    began = now();
    MPI_Finalize();
    if (rank == 0)
        printf("%.6f %.3f\n", seconds, (now() - began) * 1e3);
    return 0;
}
