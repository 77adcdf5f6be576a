/* One kind of call, many times: prints nanoseconds a call.
 *     calls KIND CALLS THREADS DIR        KIND: write1 pwrite4k pread4k lseek openclose stat fwrite64 shared */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_BYTES = 4096, BLOCKS = 64 };

struct work {
    const char *kind, *path;
    long calls;
    int fd; /* of all threads, or this one's */
    FILE *stream;
    double ns;
};

static char block[BLOCK_BYTES];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

static void call_once(const struct work *work, long i)
{
    struct stat status;
    off_t offset = i % BLOCKS * BLOCK_BYTES;
    switch (work->kind[0] == 'p' ? work->kind[1] : work->kind[0]) {
    case 'w': /* write1 and pwrite4k */
        must(work->kind[0] == 'p' ? pwrite(work->fd, block, BLOCK_BYTES, offset) == BLOCK_BYTES : write(work->fd, block, 1) == 1, "write");
        break;
    case 'r':
        must(pread(work->fd, block, BLOCK_BYTES, offset) == BLOCK_BYTES, "pread");
        break;
    case 'l':
        must(lseek(work->fd, offset, SEEK_SET) == offset, "lseek");
        break;
    case 'o':
        must(close(open(work->path, O_RDONLY)) == 0, "open");
        break;
    case 'f':
        must(fwrite(block, 64, 1, work->stream) == 1, "fwrite");
        break;
    default: /* stat; shared: see main */
        must(work->kind[1] == 'h' ? write(work->fd, block, 1) == 1 : stat(work->path, &status) == 0, work->kind);
    }
}

static void *run(void *argument)
{
    struct work *work = argument;
    double began = now_ns();
    for (long i = 0; i < work->calls; i++)
        call_once(work, i);
    work->ns = now_ns() - began;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: calls KIND CALLS THREADS DIR\n");
        return 2;
    }
    int threads = atoi(argv[3]);
    struct work *works = calloc((size_t)threads, sizeof *works);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    int null = open("/dev/null", O_WRONLY);
    for (int t = 0; t < threads; t++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/calls.%d", argv[4], t);
        works[t] = (struct work){ .kind = argv[1], .path = strdup(path), .calls = atol(argv[2]) };
        works[t].fd = open(path, O_RDWR | O_CREAT, 0600);
        for (int i = 0; i < BLOCKS; i++)
            must(pwrite(works[t].fd, block, BLOCK_BYTES, (off_t)i * BLOCK_BYTES) == BLOCK_BYTES, path);
        if (argv[1][0] == 'w' || strcmp(argv[1], "shared") == 0)
            works[t].fd = argv[1][0] == 'w' ? open("/dev/null", O_WRONLY) : null;
        works[t].stream = fopen("/dev/null", "w");
    }
    for (int t = 1; t < threads; t++)
        pthread_create(&ids[t], NULL, run, &works[t]);
    run(&works[0]);
    double ns = works[0].ns;
    for (int t = 1; t < threads; t++) {
        pthread_join(ids[t], NULL);
        ns += works[t].ns;
    }
    printf("%.3f\n", works[0].calls > 0 ? ns / threads / (double)works[0].calls : 0.0);
    return 0;
}
