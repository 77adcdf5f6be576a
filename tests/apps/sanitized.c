/* Work for programs that are built with a sanitizer, or run under valgrind: threads that write, read, print, fork and exec, from stacks on
 * which the program's deeper functions have been before. With `overflow` as second argument it reads more than a piece of memory holds, which
 * is the program's own fault. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 100, FILES = 7 };

static const char *folder;

#define MUST(claim) ((claim) ? (void)0 : abort())

__attribute__((noinline)) static int go_down(int left)
{
    volatile char frame[4000];
    frame[left] = 1;
    return left > 0 ? go_down(left - 1) + frame[left] : 0;
}

static void start_others(const char *name)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        int fd = open(name, O_WRONLY);
        MUST(go_down(10) == 10 && write(fd, "1234567890", 10) == 10 && close(fd) == 0);
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
    MUST(system("true") == 0);
}

static void *work(void *number)
{
    char name[600], buffer[4096], *line = NULL;
    size_t room = 0;
    go_down(20);
    for (int i = 0; i < ROUNDS; i++) {
        struct stat status;
        memset(buffer, 'x', sizeof buffer);
        snprintf(name, sizeof name, "%s/%ld-%d", folder, (long)number, i % FILES);
        int fd = openat(AT_FDCWD, name, O_CREAT | O_RDWR | O_TRUNC, 0600);
        go_down(10);
        MUST(write(fd, buffer, 100) == 100 && pwrite(fd, buffer, 50, 300) == 50 && lseek(fd, 0, SEEK_SET) == 0);
        go_down(10);
        MUST(read(fd, buffer, 50) == 50 && fstat(fd, &status) == 0 && stat(name, &status) == 0);
        MUST(close(dup(fd)) == 0 && close(fd) == 0 && access(name, F_OK) == 0);
        FILE *file = fopen(name, "a+");
        go_down(10);
        MUST(fprintf(file, "hello %03d\n", i) == 10 && fputs("line", file) >= 0 && putc('\n', file) == '\n');
        rewind(file);
        while (getline(&line, &room, file) > 0)
            go_down(1);
        fclose(file);
        if (i == ROUNDS / 2 && (long)number == 1) {
            DIR *dir = opendir(folder);
            while (readdir(dir) != NULL)
                continue;
            closedir(dir);
            start_others(name);
        }
    }
    free(line);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    folder = argv[1];
    if (argc > 2 && strcmp(argv[2], "overflow") == 0) {
        char *small = malloc(10);
        int fd = open("/dev/zero", O_RDONLY);
        return read(fd, small, 100) != 100;
    }
    go_down(30);
    for (long i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    puts("done");
    return 3;
}
