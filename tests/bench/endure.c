/* A long and hard life, in short: many threads, files and mounts, then one-byte writes at full speed.
 *     endure SECONDS THREADS FILES ROOM DIR...
 * Threads share the files and take the directories in turn. ROOM: bytes of addresses that may still be mapped once all threads are there
 * (0: no limit). Once every thread has been through its files, prints about each second what was since the line before, `seconds NUMBER
 * writes NUMBER cpu_ns_a_write NUMBER rss_kib NUMBER written_kib NUMBER`, and at the end the number of calls that wrote, `total
 * NUMBER`. `written_kib`: of what is resident, what the process wrote. The rest are pages of files, which the kernel maps around a fault
 * as many as it has at hand. */
#include "measure.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, FILE_BYTES = 4096, WRITES_A_LOOK = 64 };

struct worker {
    pthread_t thread;
    int number;
    _Alignas(64) _Atomic long writes;
};

static int files_of_each, directories;
static char **directory;
static pthread_barrier_t all_there;
static _Atomic int is_over;

static int file_of(int worker, int number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/endure.%d.%d", directory[(worker + number) % directories], worker, number);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    must(fd >= 0, path);
    return fd;
}

static void write_byte(struct worker *self, int fd, long i)
{
    must(pwrite(fd, "x", 1, i % FILE_BYTES) == 1, "pwrite");
    atomic_store_explicit(&self->writes, self->writes + 1, memory_order_relaxed);
}

static void *work(void *argument)
{
    struct worker *self = argument;
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_there);
    for (int number = 1; number < files_of_each; number++) {
        int fd = file_of(self->number, number);
        write_byte(self, fd, 0);
        close(fd);
    }
    int fd = file_of(self->number, 0);
    write_byte(self, fd, 0);
    pthread_barrier_wait(&all_there);
    for (long i = 0; i % WRITES_A_LOOK != 0 || !is_over; i++)
        write_byte(self, fd, i);
    close(fd);
    return NULL;
}

static long number_after(const char *path, const char *name)
{
    char line[256];
    long number = 0;
    FILE *file = fopen(path, "r");
    must(file != NULL, path);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            number = atol(line + strlen(name));
    fclose(file);
    return number;
}

static void limit_addresses(long room)
{
    long used = number_after("/proc/self/status", "VmSize:") << 10;
    struct rlimit limit = { (rlim_t)(used + room), (rlim_t)(used + room) };
    must(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
}

static double clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static long total(struct worker *workers, int threads)
{
    long writes = 0;
    for (int i = 0; i < threads; i++)
        writes += workers[i].writes;
    return writes;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: endure SECONDS THREADS FILES ROOM DIR...\n");
        return 2;
    }
    int seconds = atoi(argv[1]), threads = atoi(argv[2]);
    long room = atol(argv[4]);
    files_of_each = atoi(argv[3]) / threads;
    directory = argv + 5;
    directories = argc - 5;
    struct worker *workers = aligned_alloc(64, (size_t)threads * sizeof *workers);
    memset(workers, 0, (size_t)threads * sizeof *workers);

    struct rlimit open_files;
    getrlimit(RLIMIT_NOFILE, &open_files);
    open_files.rlim_cur = open_files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &open_files);

    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    pthread_barrier_init(&all_there, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        must(pthread_create(&workers[i].thread, &small, work, &workers[i]) == 0, "pthread_create");
    }
    pthread_barrier_wait(&all_there);
    if (room > 0)
        limit_addresses(room);
    pthread_barrier_wait(&all_there);

    setpriority(PRIO_PROCESS, 0, -20); /* this thread's, if it may: with so many others it would hardly ever look */
    pthread_barrier_wait(&all_there);
    double began = clock_ns(CLOCK_MONOTONIC), cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID), passed = 0;
    long writes_before = total(workers, threads);
    while (passed < seconds) {
        sleep(1);
        passed = (clock_ns(CLOCK_MONOTONIC) - began) / 1e9;
        double cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        long writes = total(workers, threads), new = writes - writes_before;
        double ns = new > 0 ? (cpu - cpu_before) / (double)new : 0.0;
        const char *memory = "/proc/self/smaps_rollup";
        long resident = number_after(memory, "Rss:");
        long written = number_after(memory, "Private_Dirty:") + number_after(memory, "Shared_Dirty:") + number_after(memory, "Swap:");
        printf("seconds %.1f writes %ld cpu_ns_a_write %.1f rss_kib %ld written_kib %ld\n", passed, new, ns, resident, written);
        cpu_before = cpu;
        writes_before = writes;
    }
    is_over = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
    printf("total %ld\n", total(workers, threads));
    return 0;
}
