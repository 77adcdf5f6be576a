/* A handler that libc calls in a forked child before fork returns there writes 20 bytes; then the child writes 300, and the parent 1. */
#define PUT_INTO "at_fork"
#include "scenario.h"

#include <pthread.h>
#include <sys/wait.h>

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
