/* Begins a program as it is told: `unseen_parent WAY PROGRAM ARGUMENT...`. Ends with the program's status; with 77 if it was not begun. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void run(const char *way, char **words)
{
    if (strcmp(way, "execv") == 0)
        execv(words[0], words);
    else if (strcmp(way, "execvp") == 0)
        execvp(words[0], words);
    else if (strcmp(way, "execve") == 0)
        execve(words[0], words, environ);
    else if (strcmp(way, "execl") == 0)
        execl(words[0], words[0], words[1], words[2], NULL);
    else if (strcmp(way, "fexecve") == 0)
        fexecve(open(words[0], O_RDONLY), words, environ);
    else if (strcmp(way, "execveat") == 0)
        execveat(open(".", O_RDONLY | O_DIRECTORY), words[0], words, environ, 0);
    _exit(77);
}

int main(int count, char **words)
{
    const char *way = words[1];
    pid_t pid = -1;
    int status = 0;
    if (count < 3)
        return 2;
    if (strcmp(way, "posix_spawn") == 0) {
        if (posix_spawn(&pid, words[2], NULL, NULL, words + 2, environ) != 0)
            return 77;
    } else if (strcmp(way, "posix_spawnp") == 0) {
        if (posix_spawnp(&pid, words[2], NULL, NULL, words + 2, environ) != 0)
            return 77;
    } else if (strncmp(way, "v:", 2) == 0) {
        pid = vfork();
        if (pid == 0)
            run(way + 2, words + 2);
    } else if (strncmp(way, "clone:", 6) == 0) {
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
            run(way + 6, words + 2);
    } else if (strncmp(way, "here:", 5) == 0) {
        run(way + 5, words + 2);
    } else {
        pid = fork();
        if (pid == 0)
            run(way, words + 2);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
