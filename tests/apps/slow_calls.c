/* Calls that last longer than a slice: reads from a pipe that is slow to fill, writes to one that is slow to empty, and the opening of a
 * FIFO that nobody writes to yet. Tells begin and end of each by CLOCK_REALTIME. */
#include "scenario.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { ROUNDS = 3, SLEEP_US = 270000, BLOCK_BYTES = 1 << 16 /* what a pipe holds */ };

static char block[BLOCK_BYTES];

static long now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void tell_span(const char *what, int round, long begin)
{
    char name[64];
    long end = now_ns();
    snprintf(name, sizeof name, "%s_begin_%d", what, round);
    tell(name, begin);
    snprintf(name, sizeof name, "%s_end_%d", what, round);
    tell(name, end);
}

/* The other side makes raw calls, so that the profile is ours alone. */
static void serve_slowly(int in, int out)
{
    char bytes[BLOCK_BYTES];
    for (int round = 0; round < ROUNDS; round++) {
        usleep(SLEEP_US);
        unseen_syscall(SYS_write, out, block, 1000);
    }
    for (int round = 0; round < ROUNDS; round++) {
        usleep(SLEEP_US);
        for (long got = 0; got < BLOCK_BYTES;)
            got += unseen_syscall(SYS_read, in, bytes, BLOCK_BYTES - got);
    }
    usleep(SLEEP_US);
    unseen_syscall(SYS_openat, AT_FDCWD, "fifo", O_WRONLY);
    usleep(1000);
    unseen_syscall(SYS_exit_group, 0);
}

int main(void)
{
    int to_us[2], to_them[2];
    REQUIRE(pipe(to_us) == 0 && pipe(to_them) == 0 && mkfifo("fifo", 0600) == 0);
    REQUIRE(write(to_them[1], block, BLOCK_BYTES) == BLOCK_BYTES); /* full: each further write waits */
    pid_t other = (pid_t)unseen_syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (other == 0)
        serve_slowly(to_them[0], to_us[1]);
    scenario_begin();
    for (int round = 0; round < ROUNDS; round++) {
        long begin = now_ns();
        REQUIRE(read(to_us[0], block, sizeof block) == 1000);
        tell_span("read", round, begin);
    }
    for (int round = 0; round < ROUNDS; round++) {
        long begin = now_ns();
        REQUIRE(write(to_them[1], block, BLOCK_BYTES) == BLOCK_BYTES);
        tell_span("write", round, begin);
    }
    long begin = now_ns();
    REQUIRE(open("fifo", O_RDONLY) >= 0);
    tell_span("meta", 0, begin);
    REQUIRE(waitpid(other, NULL, 0) == other);
    scenario_end();
    return 0;
}
