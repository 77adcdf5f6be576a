/* Waits, or runs, where slicewise stacks is to find it. `stacks_waiting epoll`: in a call that ends early once it is disturbed, and then the
 * program ends with status 3. `threads N`: N threads compute. `write FILE`: writes once it reads a byte. Each does some I/O first. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

__attribute__((noinline)) static void *compute(void *argument)
{
    for (volatile long n = 0;; n++)
        ;
    return argument;
}

__attribute__((noinline)) static int wait_for_nothing(void)
{
    struct epoll_event event;
    int fd = epoll_create1(0);
    return epoll_wait(fd, &event, 1, -1) < 0 && errno == EINTR ? 3 : 4;
}

__attribute__((noinline)) static int write_there(const char *path)
{
    static char block[1 << 20];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (read(0, block, 1) != 1)
        return 5;
    for (int i = 0; i < 64; i++)
        if (write(fd, block, sizeof block) < 0)
            return 6;
    return fsync(fd) == 0 ? 0 : 7;
}

int main(int argc, char **argv)
{
    FILE *first = fopen("first", "w");
    fprintf(first, "%d arguments\n", argc);
    fclose(first);
    for (int i = 1; strcmp(argv[1], "threads") == 0 && i < atoi(argv[2]); i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, compute, NULL);
    }
    puts("ready");
    fflush(stdout);
    if (strcmp(argv[1], "epoll") == 0)
        return wait_for_nothing();
    if (strcmp(argv[1], "write") == 0)
        return write_there(argv[2]);
    compute(NULL);
}
