/* exec_room WAY PATH BYTES: starts PATH with arguments that are BYTES long together, and ends with its status; with 77 if there is no room. By
 * `system` and `popen`, and by these `_cleared` of all other variables, the environment is what is so long, and nothing is started but a shell. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST = 100000 }; /* of one argument */

static int by_shell(const char *way, size_t bytes)
{
    char name[16];
    if (strstr(way, "_cleared") != NULL)
        clearenv();
    for (size_t part, number = 0; bytes > 0; bytes -= part) {
        part = bytes < MOST ? bytes : MOST;
        char *value = calloc(1, part + 1);
        memset(value, 'x', part);
        snprintf(name, sizeof name, "FILL%zu", number++);
        setenv(name, value, 1);
    }
    errno = 0;
    if (strncmp(way, "system", 6) == 0) {
        int status = system(":");
        return WEXITSTATUS(status) == 127 && errno == E2BIG ? 77 : WEXITSTATUS(status) + (errno != 0);
    }
    FILE *stream = popen(":", "r");
    return stream != NULL ? WEXITSTATUS(pclose(stream)) + (errno != 0) : 77; /* errno does not say why */
}

int main(int count, char **arguments)
{
    if (count < 4)
        return 2;
    if (arguments[1][0] == 's' || strncmp(arguments[1], "popen", 5) == 0)
        return by_shell(arguments[1], (size_t)atol(arguments[3]));
    size_t bytes = (size_t)atol(arguments[3]), used = 1;
    char **argv = calloc(bytes / MOST + 3, sizeof *argv);
    argv[0] = arguments[2];
    for (size_t part; bytes > 0; bytes -= part) {
        part = bytes < MOST ? bytes : MOST;
        argv[used] = calloc(1, part);
        memset(argv[used++], 'x', part - 1);
    }
    if (strcmp(arguments[1], "posix_spawn") == 0) {
        int pid, status;
        int error = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
        if (error != 0)
            return error == E2BIG ? 77 : 3;
        return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 4;
    }
    if (strcmp(arguments[1], "execvp") == 0)
        execvp(argv[0], argv);
    else
        execve(argv[0], argv, environ);
    return errno == E2BIG ? 77 : 3;
}
