/* A process and its children by fork, _Fork and vfork: each writes an amount of its own to one file, and a child's children too. */
#include "scenario.h"

#include <sys/wait.h>

static char block[4096];

static void put(size_t bytes)
{
    int fd = open("family", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void wait_for(pid_t child)
{
    int status;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static int grandchild(void)
{
    put(30);
    return 0;
}

static int child(void)
{
    put(200);
    pid_t pid = _Fork();
    if (pid == 0)
        _exit(grandchild());
    wait_for(pid);
    put(2);
    return 0;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    put(1000);
    pid_t pid = fork();
    if (pid == 0)
        exit(child());
    wait_for(pid);
    put(1);
    if ((pid = vfork()) == 0) { /* borrows our memory, and counts as us */
        put(5);
        _exit(0);
    }
    wait_for(pid);
    put(4);
    scenario_end();
    return 0;
}
