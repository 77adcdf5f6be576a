/* Children by clone: with memory of their own, which end by returning and by _exit; sharing memory, until it ends; and by the bare system
 * call. Each writes an amount of its own. */
#include "scenario.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static char block[4096], stack[1 << 16] __attribute__((aligned(16)));

static void put(size_t bytes)
{
    int fd = open("clone", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static int return_3(void *bytes)
{
    put(*(size_t *)bytes);
    return 3;
}

static int exit_3(void *bytes)
{
    put(*(size_t *)bytes);
    _exit(3);
}

static void wait_for(pid_t child)
{
    int status;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void start(int (*function)(void *), int flags, size_t bytes)
{
    wait_for(clone(function, stack + sizeof stack, flags | SIGCHLD, &bytes));
}

int main(void)
{
    put(1);
    start(return_3, 0, 20);
    start(exit_3, 0, 300);
    start(return_3, CLONE_VM | CLONE_VFORK, 4000);
    REQUIRE(clone(return_3, NULL, 0, NULL) == -1 && errno == EINVAL);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(return_3(&(size_t){ 50 }));
    wait_for(child);
    put(2);
    return 0;
}
