/* A small program for a libc other than glibc: files, streams, a thread, a child, an exec. Exits with 5. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *put(void *name)
{
    struct stat status;
    int fd = open(name, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "0123456789", 10) != 10 || fstat(fd, &status) != 0 || close(fd) != 0)
        exit(90);
    return NULL;
}

int main(int argc, char **argv)
{
    char line[64] = "";
    int status;
    pthread_t thread;
    if (argc > 1) { /* by exec */
        puts(argv[1]);
        return 7;
    }
    FILE *stream = fopen("stream", "w+");
    if (stream == NULL || fprintf(stream, "%d lines\n", 1) < 0 || fflush(NULL) != 0 || fseek(stream, 0, SEEK_SET) != 0 ||
        fgets(line, sizeof line, stream) == NULL || fclose(stream) != 0)
        return 91;
    fputs(line, stdout);
    if (pthread_create(&thread, NULL, put, "file") != 0 || pthread_join(thread, NULL) != 0)
        return 92;
    if (access("missing", R_OK) == 0 || system("exit 3") != 3 << 8)
        return 93;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        put("file");
        execl(argv[0], argv[0], "started", (char *)NULL);
        _exit(94);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
        return 95;
    puts("done");
    return 5;
}
