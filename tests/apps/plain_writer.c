/* Writes 1,000 lines to the file argv[1] through a stream that exit flushes, and as many bytes by a thread, by a forked child and by itself started anew.
 * It asks libc for nothing else. */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *write_bytes(void *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < 100; i++)
        if (write(fd, "0123456789", 10) != 10)
            _exit(1);
    close(fd);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    pid_t child;
    int status = 1;
    if (count == 3) {
        write_bytes(arguments[1]);
        return 0;
    }
    FILE *lines = fopen(arguments[1], "a");
    for (int i = 0; i < 1000; i++)
        fprintf(lines, "line %d\n", i);
    fflush(lines);
    pthread_create(&thread, NULL, write_bytes, arguments[1]);
    pthread_join(thread, NULL);
    if ((child = fork()) == 0) {
        write_bytes(arguments[1]);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (status != 0 || posix_spawnp(&child, arguments[0], NULL, NULL, (char *[]){ arguments[0], arguments[1], "anew", NULL }, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        return 1;
    fprintf(lines, "the end\n");
    printf("done\n");
    return 0;
}
