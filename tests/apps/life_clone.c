/* Children by clone: with memory of their own, which end by returning and by _exit; sharing memory, until it ends; and by the bare system
 * call. Each writes an amount of its own. */
#define PUT_INTO "clone"
#include "scenario.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static char stack[1 << 16] __attribute__((aligned(16)));

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

static void start(int (*function)(void *), int flags, size_t bytes)
{
    AWAIT(clone(function, stack + sizeof stack, flags | SIGCHLD, &bytes), 3);
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
    AWAIT(child, 3);
    put(2);
    return 0;
}
