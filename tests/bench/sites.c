/* I/O below a stack of 24 frames, for what call sites cost.
 *     sites write CALLS DIR               so many pwrite of 64 KiB; prints the processor time of all of them in ms
 *     sites wait CALLS DIR                so many waits of 3 ms in read(), which are one sample each at SLICEWISE_SITE_MS=1; prints the processor
 *                                         time of one in us
 *     sites count site_sample CHUNKS 1 DIR   the same under callgrind: each chunk's instructions are dumped as `Client Request: site_sample CALLS` */
#include "measure.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { FRAMES = 24, BLOCK_BYTES = 64 << 10, BLOCKS = 64, WAIT_NS = 3000000, CALLS_A_CHUNK = 16, WARM_UP = 5 };

static char block[BLOCK_BYTES];
static int file, timer;
static long wait_ns = WAIT_NS;

static void write_block(long i)
{
    must(pwrite(file, block, BLOCK_BYTES, i % BLOCKS * BLOCK_BYTES) == BLOCK_BYTES, "pwrite");
}

static void wait_once(long i)
{
    const struct itimerspec once = { .it_value = { .tv_nsec = wait_ns } };
    uint64_t times;
    (void)i;
    must(timerfd_settime(timer, 0, &once, NULL) == 0 && read(timer, &times, sizeof times) == sizeof times, "timerfd");
}

__attribute__((noinline)) static void below(int frames, void (*call)(long), long i)
{
    if (frames > 0)
        below(frames - 1, call, i);
    else
        call(i);
    __asm__ volatile("" ::: "memory"); /* no tail call: the frame stays */
}

static double calls_ns(void (*call)(long), long calls)
{
    struct timespec began, ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    for (long i = 0; i < calls; i++)
        below(FRAMES, call, i);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    return (double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec);
}

/* A first chunk warms up and is not dumped. Under callgrind a sample costs so much time that it pays for those of a longer wait. */
static void count(const char *kind, int chunks)
{
    char name[64];
    snprintf(name, sizeof name, "%s %d", kind, CALLS_A_CHUNK);
    wait_ns = 4 * WAIT_NS;
    for (int chunk = -1; chunk < chunks; chunk++) {
        CALLGRIND_ZERO_STATS;
        calls_ns(wait_once, CALLS_A_CHUNK);
        if (chunk >= 0)
            CALLGRIND_DUMP_STATS_AT(name);
    }
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 4) {
        fprintf(stderr, "usage: sites write|wait CALLS DIR, or sites count KIND CHUNKS 1 DIR\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/sites", argv[argc - 1]);
    file = open(path, O_RDWR | O_CREAT, 0600);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    must(file >= 0 && timer >= 0, path);
    calls_ns(write_block, BLOCKS);
    if (strcmp(argv[1], "count") == 0)
        count(argv[2], atoi(argv[3]));
    else if (strcmp(argv[1], "write") == 0)
        printf("%.6f\n", calls_ns(write_block, atol(argv[2])) / 1e6);
    else {
        calls_ns(wait_once, WARM_UP); /* the first sample of a process learns its files and stacks */
        printf("%.6f\n", calls_ns(wait_once, atol(argv[2])) / (double)atol(argv[2]) / 1e3);
    }
    return 0;
}
