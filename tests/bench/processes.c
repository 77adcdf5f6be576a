/* Short processes, of which workflows and configure scripts are made.
 *     processes fork FORKS     makes so many children that only leave; prints the median of the ns from fork to a child's end
 *     processes few DIR        makes ten small calls on a file there */
#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int compare(const void *one, const void *other)
{
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}

static long fork_ns(void)
{
    long began = now_ns();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    must(child > 0 && waitpid(child, NULL, 0) == child, "fork");
    return now_ns() - began;
}

static void make_children(int forks)
{
    long *ns = calloc((size_t)forks, sizeof *ns);
    fork_ns(); /* the first one copies what was not touched yet */
    for (int i = 0; i < forks; i++)
        ns[i] = fork_ns();
    qsort(ns, (size_t)forks, sizeof *ns, compare);
    printf("%ld\n", ns[forks / 2]);
}

/* Ten calls. */
static void make_few_calls(const char *directory)
{
    char path[4096], text[64] = "a few words";
    struct stat status;
    snprintf(path, sizeof path, "%s/few", directory);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    must(fd >= 0, path);
    for (int i = 0; i < 3; i++)
        must(write(fd, text, sizeof text) == sizeof text, "write");
    must(fstat(fd, &status) == 0, "fstat");
    must(lseek(fd, 0, SEEK_SET) == 0, "lseek");
    for (int i = 0; i < 3; i++)
        must(read(fd, text, sizeof text) == sizeof text, "read");
    must(close(fd) == 0, "close");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "fork") == 0)
        make_children(atoi(argv[2]));
    else if (argc == 3 && strcmp(argv[1], "few") == 0)
        make_few_calls(argv[2]);
    else {
        fprintf(stderr, "usage: processes fork FORKS | few DIR\n");
        return 2;
    }
    return 0;
}
