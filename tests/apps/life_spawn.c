/* Starts programs by posix_spawn, system, popen, and vfork with exec; writes 10 bytes before each and 10 at the end. The program is
 * argv[1] with the rest as its arguments. */
#include "scenario.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void put(void)
{
    int fd = open("spawner", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, "0123456789", 10) == 10 && close(fd) == 0);
}

int main(int argc, char **argv)
{
    char command[1024];
    pid_t child;
    REQUIRE(argc == 3);
    snprintf(command, sizeof command, "%s %s", argv[1], argv[2]);
    put();
    REQUIRE(posix_spawn(&child, argv[1], NULL, NULL, argv + 1, environ) == 0);
    AWAIT(child, 7);
    put();
    REQUIRE(WEXITSTATUS(system(command)) == 7);
    put();
    FILE *stream = popen(command, "r");
    REQUIRE(stream != NULL && fgetc(stream) == EOF && WEXITSTATUS(pclose(stream)) == 7);
    put();
    child = vfork();
    if (child == 0) {
        execv(argv[1], argv + 1);
        _exit(1);
    }
    AWAIT(child, 7);
    put();
    return 0;
}
