/* Computes, communicates and writes, as its first argument says, and prints what its own clock says of each: a line a rank with the seconds in MPI
 * (without MPI_Init and MPI_Finalize), the seconds in I/O, the seconds from the end of MPI_Init to before MPI_Finalize, the calls of MPI and the
 * bytes that it named. The second argument is a directory for files, the third one, for `slow`, is how many seconds rank 0 waits for storage,
 * and the fourth one in which calls rank 1 waits for it: barrier, collective, receive or wait. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "scenario.h"

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 400, HALO = 4096, BLOCK = 1 << 20 };

static double mpi_seconds, io_seconds;
static long mpi_calls, mpi_bytes;
static int rank, ranks;

#define COUNTED(seconds, call) \
    do { \
        double began = now(); \
        call; \
        seconds += now() - began; \
    } while (0)
#define MPI(call, bytes) \
    do { \
        COUNTED(mpi_seconds, REQUIRE((call) == MPI_SUCCESS)); \
        mpi_calls++; \
        mpi_bytes += (bytes); \
    } while (0)

static void compute(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        continue;
}

static void ping_pong(void)
{
    char ball = 0;
    for (int i = 0; i < ROUNDS; i++) {
        compute(i % 10 == 0 ? 0.02 : 0);
        if (rank == 0) {
            MPI(MPI_Send(&ball, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD), 1);
            MPI(MPI_Recv(&ball, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
        } else {
            MPI(MPI_Recv(&ball, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
            MPI(MPI_Send(&ball, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD), 1);
        }
    }
}

static void halo(void)
{
    static double edges[4][HALO];
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
    long each = (long)sizeof edges[0];
    for (int i = 0; i < ROUNDS / 4; i++) {
        MPI_Request requests[4];
        MPI(MPI_Irecv(edges[0], HALO, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]), 0);
        MPI(MPI_Irecv(edges[1], HALO, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]), 0);
        MPI(MPI_Isend(edges[2], HALO, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]), left >= 0 ? each : 0);
        MPI(MPI_Isend(edges[3], HALO, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]), right >= 0 ? each : 0);
        compute(0.005 * (1 + rank));
        int is_done = 0;
        MPI(MPI_Test(&requests[0], &is_done, MPI_STATUS_IGNORE), 0);
        MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE), 0);
    }
}

static void collectives(void)
{
    static int numbers[HALO], all[8 * HALO];
    MPI_Request request;
    long each = (long)sizeof numbers;
    for (int i = 0; i < ROUNDS / 8; i++) {
        compute(0.01 * (1 + (rank + i) % ranks));
        MPI(MPI_Bcast(numbers, HALO, MPI_INT, 0, MPI_COMM_WORLD), each);
        MPI(MPI_Allreduce(MPI_IN_PLACE, numbers, HALO, MPI_INT, MPI_MAX, MPI_COMM_WORLD), each);
        MPI(MPI_Gather(rank == 0 ? MPI_IN_PLACE : numbers, rank == 0 ? 0 : HALO, rank == 0 ? MPI_DATATYPE_NULL : MPI_INT, all, HALO, MPI_INT, 0,
                       MPI_COMM_WORLD), rank == 0 ? 0 : each);
        MPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, HALO, MPI_INT, MPI_COMM_WORLD), each);
        MPI(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, HALO, MPI_INT, MPI_COMM_WORLD), ranks * each);
        MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request), 0);
        MPI(MPI_Wait(&request, MPI_STATUS_IGNORE), 0);
        MPI(MPI_Barrier(MPI_COMM_WORLD), 0);
    }
}

static void write_block(int fd)
{
    static char block[BLOCK];
    COUNTED(io_seconds, REQUIRE(write(fd, block, sizeof block) == (ssize_t)sizeof block));
}

static int open_file(const char *folder)
{
    char path[4096];
    int fd;
    snprintf(path, sizeof path, "%s/split.%d", folder, rank);
    COUNTED(io_seconds, fd = open(path, O_CREAT | O_WRONLY, 0600));
    REQUIRE(fd >= 0);
    return fd;
}

static void io(const char *folder)
{
    int fd = open_file(folder);
    for (int i = 0; i < ROUNDS / 8; i++) {
        compute(0.01);
        if (rank == 0)
            for (int block = 0; block < 4; block++)
                write_block(fd);
        MPI(MPI_Barrier(MPI_COMM_WORLD), 0);
    }
    COUNTED(io_seconds, REQUIRE(close(fd) == 0));
}

/* MPI-IO in place of POSIX. */
static void mpi_io(const char *folder)
{
    static char block[BLOCK];
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/split", folder);
    COUNTED(io_seconds, REQUIRE(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS));
    for (int i = 0; i < ROUNDS / 8; i++) {
        compute(0.01 * (1 + rank));
        COUNTED(io_seconds, REQUIRE(MPI_File_write_at_all(file, (MPI_Offset)BLOCK * (ranks * i + rank), block, BLOCK, MPI_CHAR,
                                                          MPI_STATUS_IGNORE) == MPI_SUCCESS));
        MPI(MPI_Barrier(MPI_COMM_WORLD), 0);
    }
    COUNTED(io_seconds, REQUIRE(MPI_File_close(&file) == MPI_SUCCESS));
}

/* The storage of rank 0 is slow: a FIFO whose other end nobody reads for a while would be no file, so it takes a lock on a file that another
 * thread holds. */
struct holder {
    int fd;
    double seconds;
    pthread_barrier_t barrier;
};

static void *hold(void *argument)
{
    struct holder *holder = argument;
    struct timespec time = { (time_t)holder->seconds, (long)((holder->seconds - (double)(time_t)holder->seconds) * 1e9) };
    struct flock lock = { .l_type = F_WRLCK };
    for (int i = 0; i < 4; i++) {
        fcntl(holder->fd, F_OFD_SETLK, &lock);
        pthread_barrier_wait(&holder->barrier);
        nanosleep(&time, NULL);
        lock.l_type = F_UNLCK;
        fcntl(holder->fd, F_OFD_SETLK, &lock);
        lock.l_type = F_WRLCK;
        pthread_barrier_wait(&holder->barrier);
    }
    return NULL;
}

static void in_barrier(void)
{
    MPI(MPI_Barrier(MPI_COMM_WORLD), 0);
}

static void in_collective(void)
{
    int number = rank;
    MPI(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), (long)sizeof number);
}

static void in_receive(void)
{
    char ball = 0;
    if (rank == 0)
        MPI(MPI_Send(&ball, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD), 1);
    else
        MPI(MPI_Recv(&ball, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), 0);
}

static void in_wait(void)
{
    char ball = 0;
    MPI_Request request;
    if (rank == 0)
        MPI(MPI_Isend(&ball, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request), 1);
    else
        MPI(MPI_Irecv(&ball, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request), 0);
    MPI(MPI_Wait(&request, MPI_STATUS_IGNORE), 0);
}

static void (*way_to_wait(const char *name))(void)
{
    return strcmp(name, "barrier") == 0      ? in_barrier
           : strcmp(name, "collective") == 0 ? in_collective
           : strcmp(name, "receive") == 0    ? in_receive
                                             : in_wait;
}

static void slow(const char *folder, double seconds, void (*wait)(void))
{
    int fd = open_file(folder);
    struct holder holder = { .fd = open_file(folder), .seconds = seconds / 4 };
    pthread_t thread;
    pthread_barrier_init(&holder.barrier, NULL, 2);
    if (rank == 0)
        pthread_create(&thread, NULL, hold, &holder);
    for (int i = 0; i < 4; i++) {
        struct flock lock = { .l_type = F_WRLCK };
        compute(0.05);
        if (rank == 0) {
            pthread_barrier_wait(&holder.barrier);
            COUNTED(io_seconds, REQUIRE(fcntl(fd, F_OFD_SETLKW, &lock) == 0));
            lock.l_type = F_UNLCK;
            COUNTED(io_seconds, REQUIRE(fcntl(fd, F_OFD_SETLK, &lock) == 0));
            pthread_barrier_wait(&holder.barrier);
        }
        wait();
    }
    if (rank == 0)
        pthread_join(thread, NULL);
}

/* Several threads at once, each on a communicator of its own. */
static MPI_Comm of_thread[4];

static void *chat(void *argument)
{
    MPI_Comm communicator = of_thread[*(int *)argument];
    for (int i = 0; i < ROUNDS; i++) {
        int number = i;
        REQUIRE(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, communicator) == MPI_SUCCESS);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[4];
    int number[4] = { 0, 1, 2, 3 };
    for (int i = 0; i < 4; i++)
        MPI(MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i]), 0);
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&thread[i], NULL, chat, &number[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    mpi_calls += 4L * ROUNDS;
    mpi_bytes += 4L * ROUNDS * (long)sizeof(int);
}

int main(int argc, char **argv)
{
    int provided;
    bool has_threads = strcmp(argv[1], "threads") == 0;
    REQUIRE(MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double began = now();
    if (strcmp(argv[1], "ping-pong") == 0)
        ping_pong();
    else if (strcmp(argv[1], "halo") == 0)
        halo();
    else if (strcmp(argv[1], "collectives") == 0)
        collectives();
    else if (strcmp(argv[1], "io") == 0)
        io(argv[2]);
    else if (strcmp(argv[1], "mpi-io") == 0)
        mpi_io(argv[2]);
    else if (strcmp(argv[1], "slow") == 0)
        slow(argv[2], atof(argv[3]), way_to_wait(argv[4]));
    else if (has_threads && provided == MPI_THREAD_MULTIPLE)
        threads();
    printf("rank %d mpi %.6f io %.6f all %.6f calls %ld bytes %ld\n", rank, mpi_seconds, io_seconds, now() - began, mpi_calls, mpi_bytes);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("cpu of rank %d: %ld us\n", rank,
           (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
