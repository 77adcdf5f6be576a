/* What happens seldom in a process's life, as a program that tells about itself.
 *     life exit SLICES FILES DIR     I/O in so many slices and files; prints CLOCK_MONOTONIC_RAW ns as its very last deed
 *     life steady SLICES THREADS DIR some calls of 4 KiB a slice in each thread; prints the ns of each slice's first call
 *     life memory THREADS 0 DIR      I/O in so many threads more; prints resident bytes of each kind
 *     life mounts OPENS 0 DIR...     prints for each directory the ns of the first and the least of so many further open calls
 * More than one slice needs skewed_clock.c. */
#include "measure.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 4000000000ll

enum { BLOCK_BYTES = 4096, BLOCKS = 64, CALLS = 100 };

extern void skip_clock(int64_t ns) __attribute__((weak));

static char block[BLOCK_BYTES];
static pthread_barrier_t barrier;

static int file_in(const char *directory, int number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/life.%d", directory, number);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    must(fd >= 0, path);
    return fd;
}

static void write_block(int fd, int i)
{
    must(pwrite(fd, block, BLOCK_BYTES, (off_t)(i % BLOCKS) * BLOCK_BYTES) == BLOCK_BYTES, "pwrite");
}

static void next_slice(void)
{
    if (skip_clock != NULL)
        skip_clock(SLICE_NS);
}

static void live_to_exit(int slices, int files, const char *directory)
{
    for (int i = 0; i < files; i++) {
        int fd = file_in(directory, i);
        write_block(fd, 0);
        must(close(fd) == 0, "close");
    }
    int fd = file_in(directory, 0);
    for (int slice = 1; slice < slices; slice++) {
        next_slice();
        write_block(fd, slice);
    }
    printf("%ld\n", now_ns());
    fflush(stdout);
}

static int new_file_in(const char *directory, int number)
{
    int fd = file_in(directory, number);
    for (int i = 0; i < BLOCKS; i++)
        write_block(fd, i);
    return fd;
}

/* Returns the ns of the first call. */
static long live_a_slice(int fd)
{
    long began = now_ns();
    write_block(fd, 0);
    long ns = now_ns() - began;
    for (int i = 1; i < CALLS; i++)
        if (i % 2 == 1)
            must(pread(fd, block, BLOCK_BYTES, (off_t)(i % BLOCKS) * BLOCK_BYTES) == BLOCK_BYTES, "pread");
        else
            write_block(fd, i);
    return ns;
}

static void *live_beside(void *fd)
{
    for (;;) {
        pthread_barrier_wait(&barrier);
        live_a_slice((int)(intptr_t)fd);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void live_steadily(int slices, int threads, const char *directory)
{
    pthread_t thread;
    int fd = new_file_in(directory, 0);
    long *ns = calloc((size_t)slices, sizeof *ns);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        must(pthread_create(&thread, NULL, live_beside, (void *)(intptr_t)new_file_in(directory, i)) == 0, "pthread_create");
    for (int slice = 0; slice < slices; slice++) {
        pthread_barrier_wait(&barrier);
        ns[slice] = live_a_slice(fd);
        pthread_barrier_wait(&barrier);
        next_slice();
    }
    for (int slice = 0; slice < slices; slice++)
        printf("%ld\n", ns[slice]);
}

static void *do_some(void *directory)
{
    new_file_in(directory, 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

/* Page by page: the sums in /proc/self/status leave out what each processor has not added yet, 128 KiB or more. */
static void print_memory(void)
{
    char line[256];
    FILE *memory = fopen("/proc/self/smaps_rollup", "r");
    must(memory != NULL, "/proc/self/smaps_rollup");
    while (fgets(line, sizeof line, memory) != NULL)
        if (strncmp(line, "Rss:", 4) == 0 || strncmp(line, "Anonymous:", 10) == 0 || strncmp(line, "Pss_Shmem:", 10) == 0)
            fputs(line, stdout);
    fclose(memory);
}

static void live_in_memory(int threads, char *directory)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        must(pthread_create(&thread, NULL, do_some, directory) == 0, "pthread_create");
    new_file_in(directory, 1);
    pthread_barrier_wait(&barrier);
    print_memory();
    pthread_barrier_wait(&barrier);
}

static long open_ns(const char *directory)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/life.0", directory);
    long began = now_ns();
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    long ns = now_ns() - began;
    must(fd >= 0, path);
    close(fd);
    return ns;
}

static void live_on_mounts(int opens, char **directories)
{
    for (; *directories != NULL; directories++) {
        long first = open_ns(*directories), least = INT64_MAX;
        for (int i = 0; i < opens; i++) {
            long ns = open_ns(*directories);
            least = ns < least ? ns : least;
        }
        printf("%ld %ld\n", first, least);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: life exit|steady|memory|mounts NUMBER NUMBER DIR...\n");
        return 2;
    }
    int first = atoi(argv[2]), second = atoi(argv[3]);
    if (strcmp(argv[1], "exit") == 0)
        live_to_exit(first, second, argv[4]);
    else if (strcmp(argv[1], "steady") == 0)
        live_steadily(first, second, argv[4]);
    else if (strcmp(argv[1], "memory") == 0)
        live_in_memory(first, argv[4]);
    else
        live_on_mounts(first, argv + 4);
    return 0;
}
