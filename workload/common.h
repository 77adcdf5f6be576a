/* What both programs of the workload need: complaints, sizes, clocks, a barrier. Included once each; PROGRAM is its name. */
#pragma once

#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((format(printf, 1, 0))) static void complain(const char *format, va_list arguments)
{
    fprintf(stderr, PROGRAM ": ");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

__attribute__((format(printf, 2, 3), noreturn)) static void fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, status);
    abort();
}

/* About wrong arguments, which all ranks see alike: the first one says what is wrong, all end with status 2, and MPI has nothing to add. */
__attribute__((format(printf, 1, 2), noreturn)) static void refuse(const char *format, ...)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        va_list arguments;
        va_start(arguments, format);
        complain(format, arguments);
        va_end(arguments);
    }
    MPI_Finalize();
    exit(2);
}

static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline int64_t bytes_of(const char *text)
{
    char *end;
    errno = 0;
    int64_t bytes = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (errno != 0 || end == text || end[shift > 0] != '\0' || bytes <= 0 || bytes > INT64_MAX >> shift)
        refuse("'%s' is not a size: say for instance 4096, 64K, 100M or 2G", text);
    return bytes << shift;
}

static inline void sleep_for(double seconds)
{
    if (seconds <= 0)
        return;
    struct timespec time = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        continue;
}

/* A barrier that leaves the processors to those who work: where there are few, ranks that spin would slow the others down. */
static inline void meet(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    for (int is_there = 0; MPI_Test(&request, &is_there, MPI_STATUS_IGNORE) == MPI_SUCCESS && !is_there;)
        sleep_for(0.001);
}
