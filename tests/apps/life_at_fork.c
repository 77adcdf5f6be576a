/* A handler that libc calls in a forked child before fork returns there writes 20 bytes; then the child writes 300, and the parent 1. */
#include "scenario.h"

#include <pthread.h>
#include <sys/wait.h>

static char block[4096];

static void put(size_t bytes)
{
    int fd = open("at_fork", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void in_child(void)
{
    put(20);
}

int main(void)
{
    int status;
    REQUIRE(pthread_atfork(NULL, NULL, in_child) == 0);
    pid_t child = fork();
    put(child == 0 ? 300 : 1);
    REQUIRE(child == 0 || (waitpid(child, &status, 0) == child && status == 0));
    return 0;
}
