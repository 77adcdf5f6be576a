/* A program on some allocator. WAY: `once` allocates, and no more; `threads` does it in eight threads that each write 1,000 B; `fork` does it in a
 * child as well, which writes 1,000 B. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local void *volatile kept; // volatile: so that the compiler leaves the allocations in

static int allocate_and_write(int number)
{
    char name[32];
    for (size_t i = 1; i < 1000; i++) {
        kept = malloc(i * 8);
        free(kept);
    }
    snprintf(name, sizeof name, "allocating%d", number);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char *data = calloc(1, 1000);
    int failed = write(fd, data, 1000) != 1000;
    free(data);
    return close(fd) != 0 || failed;
}

static void *run(void *number)
{
    return allocate_and_write((int)(long)number) == 0 ? number : NULL;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "once";
    kept = malloc(9);
    if (strcmp(way, "threads") == 0) {
        pthread_t threads[8];
        for (long i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, run, (void *)(i + 1));
        for (long i = 0; i < 8; i++) {
            void *done;
            pthread_join(threads[i], &done);
            if (done == NULL)
                return 1;
        }
    }
    if (strcmp(way, "fork") == 0) {
        int status;
        pid_t child = fork();
        if (child == 0)
            exit(allocate_and_write(0));
        if (waitpid(child, &status, 0) != child || status != 0)
            return 2;
    }
    return 0;
}
