// Regions of threads, forks, exceptions and jumps: regions FILE. Compiled as C too (-x c), without the exceptions.
#include "slicewise/region.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 5, BYTES = 1000 };

static int fd;
static jmp_buf back;

static void put(size_t bytes)
{
    static const char zeros[100000] = { 0 };
    if (pwrite(fd, zeros, bytes, 0) != (ssize_t)bytes)
        abort();
}

static void *work(void *which)
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t region = slicewise_region_begin("batch");
        put(BYTES * (1 + *(int *)which));
        usleep(30000);
        slicewise_region_end(region);
        put(7); // in no region
    }
    slicewise_region_begin("until the thread ends");
    put(11);
    return NULL;
}

static void jump(void)
{
    slicewise_region_begin("left by a jump");
    put(13);
    longjmp(back, 1);
}

#ifdef __cplusplus
static void refuse()
{
    slicewise::region region("scope");
    put(17);
    slicewise_region_begin("left by an exception");
    put(19);
    throw 1;
}
#endif

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int which[THREADS];
    (void)argc;
    fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < THREADS; i++) {
        which[i] = i;
        if (pthread_create(&thread[i], NULL, work, &which[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);

    uint64_t around = slicewise_region_begin("around");
    if (setjmp(back) == 0)
        jump();
#ifdef __cplusplus
    try {
        refuse();
    } catch (int) {
    }
#endif
    slicewise_region_end(around);

    uint64_t forked = slicewise_region_begin("fork");
    put(23);
    pid_t child = fork();
    if (child == 0) {
        put(100);
        slicewise_region_end(forked); // its parent's
        uint64_t own = slicewise_region_begin("of the child");
        put(200);
        slicewise_region_end(own);
        exit(0);
    }
    waitpid(child, NULL, 0);
    put(29);
    slicewise_region_end(forked);
    if (argv[2] != NULL) { // to be killed
        slicewise_region_begin("until killed");
        put(31);
        usleep(300000); // over slices
        put(37);
        kill(getpid(), SIGKILL);
    }
    return 0;
}
