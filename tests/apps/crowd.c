/* Many processes that write, and count their writes in shared memory after each has returned. crowd CHILDREN EVERY MOMENT TALLY DIRECTORY:
 * MOMENT microseconds after all have begun, every so many'th is killed (0: none) while it writes; the others end by themselves. The tally:
 * children, writes, bytes, killed. */
#include "scenario.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct crowd {
    _Atomic uint64_t children, writes, bytes, killed;
    _Atomic uint32_t arrived, may_end;
};

static void write_and_count(struct crowd *crowd, int fd, long number, long call)
{
    static const char block[4096];
    long written = pwrite(fd, block, (size_t)(1 + (number * 7 + call) % 4096), call % 32 * 4096);
    REQUIRE(written > 0);
    atomic_fetch_add(&crowd->bytes, (uint64_t)written);
    atomic_fetch_add(&crowd->writes, 1);
}

static void live(struct crowd *crowd, long number, const char *directory)
{
    char path[600];
    snprintf(path, sizeof path, "%s/file%ld", directory, number % 64);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    REQUIRE(fd >= 0);
    long calls = 5 + number % 20;
    for (long i = 0; i < calls; i++)
        write_and_count(crowd, fd, number, i);
    atomic_fetch_add(&crowd->arrived, 1);
    for (; atomic_load(&crowd->may_end) == 0; calls++) {
        usleep(50000);
        write_and_count(crowd, fd, number, calls);
    }
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 6);
    long children = atol(argv[1]), every = atol(argv[2]);
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, argv[4], O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && ftruncate(fd, 4096) == 0);
    struct crowd *crowd = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(crowd != MAP_FAILED);
    pid_t *pids = malloc((size_t)children * sizeof *pids);
    for (long i = 0; i < children; i++) {
        pids[i] = fork();
        REQUIRE(pids[i] >= 0);
        if (pids[i] == 0) {
            live(crowd, i, argv[5]);
            return 0;
        }
        atomic_fetch_add(&crowd->children, 1);
    }
    while (atomic_load(&crowd->arrived) < (uint32_t)children)
        usleep(10000);
    usleep((useconds_t)atol(argv[3]));
    for (long i = 0; every > 0 && i < children; i += every) {
        kill(pids[i], SIGKILL);
        atomic_fetch_add(&crowd->killed, 1);
    }
    atomic_store(&crowd->may_end, 1);
    for (long i = 0; i < children; i++) {
        int status;
        REQUIRE(waitpid(pids[i], &status, 0) == pids[i]);
        REQUIRE(every > 0 && i % every == 0 ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}
