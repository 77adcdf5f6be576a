/* Writes 100 bytes and starts itself, to write 200, in the way named, with an environment of its own making: argv[2] `kept` has what there was,
 * `none` nothing, `other` a list of other libraries to preload (argv[3]), `refused` an empty one. As `nowhere` it fails to start a program, and
 * writes 50. */
#define PUT_INTO "start"
#include "scenario.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void become(const char *way, char **argv, char **envp)
{
    char *self = argv[0], *after = argv[1];
    if (strcmp(way, "execve") == 0)
        execve(self, argv, envp);
    else if (strcmp(way, "execvpe") == 0)
        execvpe(self, argv, envp);
    else if (strcmp(way, "execle") == 0)
        execle(self, self, after, (char *)NULL, envp);
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
        execl(self, self, after, (char *)NULL);
    else if (strcmp(way, "execlp") == 0)
        execlp(self, self, after, (char *)NULL);
    else if (strcmp(way, "nowhere") == 0)
        execv("/no/such/program", argv);
    REQUIRE(strcmp(way, "nowhere") == 0 && errno == ENOENT);
}

int main(int argc, char **argv)
{
    char preload[600], own[] = "OWN=as it was";
    char *none[] = { own, NULL }, *listed[] = { preload, own, NULL };
    REQUIRE(argc >= 2);
    if (strncmp(argv[1], "after", 5) == 0) {
        REQUIRE(strcmp(argv[1], "after") == 0 || strcmp(getenv("OWN"), own + 4) == 0);
        put(200);
        return 7;
    }
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argc > 3 ? argv[3] : "");
    int is_kept = strcmp(argv[2], "kept") == 0;
    char **envp = is_kept ? environ : strcmp(argv[2], "none") == 0 ? none : listed;
    char *arguments[] = { argv[0], is_kept ? "after" : "after_own", NULL };
    put(100);
    pid_t child;
    if (strcmp(argv[1], "posix_spawn") == 0)
        REQUIRE(posix_spawn(&child, argv[0], NULL, NULL, arguments, envp) == 0);
    else if (strcmp(argv[1], "posix_spawnp") == 0)
        REQUIRE(posix_spawnp(&child, argv[0], NULL, NULL, arguments, envp) == 0);
    else {
        become(argv[1], arguments, envp);
        put(50);
        return 7;
    }
    AWAIT(child, 7);
    REQUIRE(posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, envp) == ENOENT);
    return 7;
}
