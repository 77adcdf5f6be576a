/* The latency of a message of one byte between two ranks, by its name and past whatever is preloaded (PMPI), in turns within one run: so that both
 * have the same processors, pages and noise. A line a round: ns of half a round trip by name, and past it, each the median of many short windows.
 *     ping_pong ROUNDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WINDOWS = 200, TRIPS = 50, TRIPS_BEFORE = 10 };

typedef int (*send_of)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*receive_of)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double window(int rank, send_of send, receive_of receive)
{
    char ball = 0;
    double began = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -TRIPS_BEFORE; i < TRIPS; i++) {
        if (i == 0)
            began = now_ns();
        if (rank == 0) {
            send(&ball, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            receive(&ball, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            receive(&ball, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            send(&ball, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (now_ns() - began) / TRIPS / 2;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static double named[WINDOWS], past[WINDOWS];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2 || ranks != 2) {
        fprintf(stderr, "usage: ping_pong ROUNDS, as two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int round = 0, rounds = atoi(argv[1]); round < rounds; round++) {
        for (int i = 0; i < WINDOWS; i++) {
            named[i] = window(rank, MPI_Send, MPI_Recv);
            past[i] = window(rank, PMPI_Send, PMPI_Recv);
        }
        qsort(named, WINDOWS, sizeof *named, by_value);
        qsort(past, WINDOWS, sizeof *past, by_value);
        if (rank == 0)
            printf("%.2f %.2f\n", named[WINDOWS / 2], past[WINDOWS / 2]);
    }
    MPI_Finalize();
    return 0;
}
