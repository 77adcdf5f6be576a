/* Writes 100 bytes and makes way for another program (itself, which then writes 200) by the function named; `none` fails to and goes on. */
#include "scenario.h"

#include <sys/wait.h>

extern char **environ;

static char block[4096];

static void put(size_t bytes)
{
    int fd = open("exec", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void become(const char *way, char *self)
{
    char *argv[] = { self, "after", NULL };
    int fd;
    if (strcmp(way, "execve") == 0)
        execve(self, argv, environ);
    else if (strcmp(way, "execv") == 0)
        execv(self, argv);
    else if (strcmp(way, "execvp") == 0)
        execvp(self, argv);
    else if (strcmp(way, "execvpe") == 0)
        execvpe(self, argv, environ);
    else if (strcmp(way, "execl") == 0)
        execl(self, self, "after", (char *)NULL);
    else if (strcmp(way, "execlp") == 0)
        execlp(self, self, "after", (char *)NULL);
    else if (strcmp(way, "execle") == 0)
        execle(self, self, "after", (char *)NULL, environ);
    else if (strcmp(way, "fexecve") == 0 && (fd = open(self, O_RDONLY)) >= 0)
        fexecve(fd, argv, environ);
    else if (strcmp(way, "execveat") == 0)
        execveat(AT_FDCWD, self, argv, environ, 0);
    else if (strcmp(way, "none") == 0)
        execv("/no/such/program", argv);
    REQUIRE(strcmp(way, "none") == 0 && errno == ENOENT);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    if (strcmp(argv[1], "after") == 0) {
        put(200);
        return 7;
    }
    put(100);
    become(argv[1], argv[0]);
    put(50);
    return 7;
}
