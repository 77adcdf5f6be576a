/* THREADS threads write to FILES light files each, one after the other, and in pieces, between them, to three heavy ones.
 *     many_files THREADS FILES DIR exit|kill
 *     many_files THREADS FILES DIR amid     each light file is larger than those before, and the first thread that is through kills all the others */
#include "scenario.h"

#include <pthread.h>
#include <signal.h>

enum { HEAVY = 3, PIECE_BYTES = 16384 };

static char block[PIECE_BYTES];
static const char *directory;
static long files;
static int is_killed_amid;
static pthread_barrier_t start;

static void put(char weight, long thread, long number, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%c%ld.%ld", directory, weight, thread, number);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void *run(void *argument)
{
    long thread = (long)argument;
    pthread_barrier_wait(&start);
    for (long i = 0; i < files; i++) {
        put('l', thread, i, (size_t)(is_killed_amid ? 1 + 4 * i : 1 + (7 * i + thread) % 100));
        if (i % (files / 8) == 0)
            for (long heavy = 0; heavy < HEAVY; heavy++)
                put('h', thread, heavy, PIECE_BYTES);
    }
    if (is_killed_amid)
        raise(SIGKILL);
    return NULL;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 5);
    long threads = atol(argv[1]);
    pthread_t ids[64];
    files = atol(argv[2]);
    directory = argv[3];
    is_killed_amid = strcmp(argv[4], "amid") == 0;
    REQUIRE(threads <= 64 && files % 8 == 0);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (long i = 0; i < threads; i++)
        REQUIRE(pthread_create(&ids[i], NULL, run, (void *)i) == 0);
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    if (strcmp(argv[4], "kill") == 0)
        raise(SIGKILL);
    return 0;
}
