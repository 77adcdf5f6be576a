/* What the measured programs share. */
#ifndef SLICEWISE_BENCH_MEASURE_H
#define SLICEWISE_BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1000000000l + now.tv_nsec;
}

/* Ends the program with `what` failed, unless it went well. */
static inline void must(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

#endif
