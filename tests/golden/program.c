/* What the golden files are profiles of: a little of everything, the same every time but for the clock. Runs in an empty directory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void must(int is_right)
{
    if (!is_right)
        abort();
}

static void blocks(void)
{
    static char block[4096];
    int fd = open("blocks", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 10; i++)
        must(pwrite(fd, block, sizeof block, i * 4096) == sizeof block);
    for (int i = 9; i >= 7; i--)
        must(pread(fd, block, 1000, i * 4096) == 1000);
    must(lseek(fd, 0, SEEK_SET) == 0);
    must(read(fd, block, 100) == 100 && read(fd, block, 100) == 100);
    must(fsync(fd) == 0);
    must(close(fd) == 0);
}

static void lines(void)
{
    FILE *stream = fopen("lines", "w");
    for (int i = 0; i < 50; i++)
        must(fprintf(stream, "line %02d\n", i) == 8);
    must(fclose(stream) == 0);
}

static void failure(void)
{
    struct stat status;
    must(stat("none", &status) == -1);
}

static void child_with_a_pipe(void)
{
    int ends[2];
    must(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        must(write(ends[1], "hello", 5) == 5);
        _exit(0);
    }
    char said[5];
    must(read(ends[0], said, 5) == 5);
    must(waitpid(child, NULL, 0) == child);
}

int main(void)
{
    const struct timespec a_slice = { 1, 100000000 };
    blocks();
    nanosleep(&a_slice, NULL);
    lines();
    failure();
    nanosleep(&a_slice, NULL);
    child_with_a_pipe();
    return 0;
}
