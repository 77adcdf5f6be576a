/* A process and its children by fork, _Fork and vfork: each writes an amount of its own to one file, and a child's children too. */
#define PUT_INTO "family"
#include "scenario.h"

#include <sys/wait.h>

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
    AWAIT(pid, 0);
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
    AWAIT(pid, 0);
    put(1);
    if ((pid = vfork()) == 0) { /* borrows our memory, and counts as us */
        put(5);
        _exit(0);
    }
    AWAIT(pid, 0);
    put(4);
    scenario_end();
    return 0;
}
