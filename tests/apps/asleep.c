/* Sleeps argv[1] milliseconds so that no signal wakes it, as the parent of vfork() does until its child ends; then writes a file, to have a profile. */
#include "scenario.h"

#include <sys/wait.h>
#include <time.h>

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    long milliseconds = atol(argv[1]);
    const struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
    FILE *file = fopen("written", "w");
    REQUIRE(file != NULL && fputs("x", file) >= 0 && fclose(file) == 0);
    pid_t child = vfork();
    REQUIRE(child >= 0);
    if (child == 0) {
        unseen_syscall(SYS_nanosleep, &time, NULL);
        _exit(0);
    }
    REQUIRE(waitpid(child, NULL, 0) == child);
    scenario_begin();
    scenario_end();
    return 0;
}
