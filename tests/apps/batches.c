/* Does the same I/O in each of BATCHES batches, and begins each when a byte comes on its standard input: `batches BATCHES CALLS FILE`. At the end
 * it prints the page faults of each batch. */
#include "scenario.h"

#include <sys/resource.h>

enum { BATCHES_MAX = 100, BLOCK_BYTES = 512, PLACES = 64 };

static char block[BLOCK_BYTES];

static long faults(void)
{
    struct rusage usage;
    REQUIRE(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt + usage.ru_majflt;
}

/* By its name callgrind tells its instructions from all others. */
__attribute__((noinline)) static void batch(int fd, long calls)
{
    for (long i = 0; i < calls; i++) {
        REQUIRE(pwrite(fd, block, sizeof block, i % PLACES * BLOCK_BYTES) == sizeof block);
        REQUIRE(pread(fd, block, sizeof block, i % PLACES * BLOCK_BYTES) == sizeof block);
    }
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    long batches = atol(argv[1]), of_batch[BATCHES_MAX];
    int fd = open(argv[3], O_RDWR | O_CREAT, 0600);
    REQUIRE(fd >= 0 && batches <= BATCHES_MAX);
    for (long i = 0; i < batches; i++) {
        char go;
        REQUIRE(unseen_syscall(SYS_read, STDIN_FILENO, &go, 1) == 1);
        long before = faults();
        batch(fd, atol(argv[2]));
        of_batch[i] = faults() - before;
        REQUIRE(unseen_syscall(SYS_write, STDERR_FILENO, "", 0) == 0); /* in a trace the end of a batch */
    }
    for (long i = 0; i < batches; i++)
        printf("%ld\n", of_batch[i]);
    return 0;
}
