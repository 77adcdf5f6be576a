/* Writes 100 bytes and starts itself, to write 200, in the way named, with an environment of its own making: argv[2] `none` has nothing in
 * it, `other` a list of other libraries to preload (argv[3]), `refused` an empty one. */
#include "scenario.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static char block[4096];

static void put(size_t bytes)
{
    int fd = open("start", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void become(const char *way, char *self, char **envp)
{
    char *argv[] = { self, "after", NULL };
    if (strcmp(way, "execve") == 0)
        execve(self, argv, envp);
    else if (strcmp(way, "execvpe") == 0)
        execvpe(self, argv, envp);
    else if (strcmp(way, "execle") == 0)
        execle(self, self, "after", (char *)NULL, envp);
    else if (strcmp(way, "fexecve") == 0)
        fexecve(open(self, O_RDONLY), argv, envp);
    else if (strcmp(way, "execveat") == 0)
        execveat(AT_FDCWD, self, argv, envp, 0);
    environ = envp;
    if (strcmp(way, "execv") == 0)
        execv(self, argv);
    else if (strcmp(way, "execvp") == 0)
        execvp(self, argv);
    else if (strcmp(way, "execl") == 0)
        execl(self, self, "after", (char *)NULL);
    else if (strcmp(way, "execlp") == 0)
        execlp(self, self, "after", (char *)NULL);
    REQUIRE(!"a way");
}

int main(int argc, char **argv)
{
    char preload[600], kept[] = "KEPT=as it was";
    char *none[] = { kept, NULL }, *listed[] = { preload, kept, NULL };
    char *arguments[] = { argv[0], "after", NULL };
    REQUIRE(argc >= 2);
    if (strcmp(argv[1], "after") == 0) {
        REQUIRE(strcmp(getenv("KEPT"), kept + 5) == 0);
        put(200);
        return 7;
    }
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argc > 3 ? argv[3] : "");
    char **envp = strcmp(argv[2], "none") == 0 ? none : listed;
    put(100);
    pid_t child;
    int status;
    if (strncmp(argv[1], "posix_spawn", 11) != 0)
        become(argv[1], argv[0], envp);
    if (strcmp(argv[1], "posix_spawn") == 0)
        REQUIRE(posix_spawn(&child, argv[0], NULL, NULL, arguments, envp) == 0);
    else
        REQUIRE(posix_spawnp(&child, argv[0], NULL, NULL, arguments, envp) == 0);
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    REQUIRE(posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, envp) == ENOENT);
    return 7;
}
