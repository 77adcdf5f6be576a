/* The same work in a way that costs much, or little:
 *     habits WAY FILE SECONDSs|COUNT
 * Goes on for so many seconds (2.5s), or steps, and prints how many steps it did, and in how many seconds. What comes
 * before them ("after ...") does not count. The costly way of each, and the other:
 *     syncs, synced:       a record of 512 B, and a sync; one sync for 100
 *     small, large:        a synchronous write of 4 KiB, after 20 of 1 MiB to another file; pieces of 1 MiB
 *     buffers, buffered:   4 KiB by a stream with a buffer as large, synchronous; a buffer of 1 MiB; both after 20 of 1 MiB
 *     random, ordered:     4 KiB of FILE (512 MiB) at random, after 20 MiB of FILE.large; as much in pieces of 1 MiB
 *     again, once:         FILE from its begin to its end; once
 *     opens, opened:       opening FILE, one byte more, closing it; opened once
 *     missing, found:      a look at a name that is not there; no look
 *     looks, kept:         a look at a name that is there; one
 *     locks, unlocked:     two processes take turns at 1 ms each by a lock of one file; a file each
 *     sips, gulps:         4 KiB of FILE in order, past the page cache, after 20 MiB of FILE.large; pieces of 1 MiB
 *     waits, ahead:        4 MiB, a sync, and 300 ms of computing; the sync in a thread meanwhile
 *     mixed, apart:        four processes write 4 KiB of one file in turn, synchronous, after 20 of 1 MiB each; a file each, by 1 MiB
 *     there, here:         a file of 16 MiB beside FILE, written and read again; one in /dev/shm
 *     many, one:           a new file of 1 KiB; one file for all */
#include "scenario.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SYNCHRONOUS = O_CREAT | O_WRONLY | O_TRUNC | O_DSYNC };
enum { RECORD = 512, SMALL = 4096, LARGE = 1 << 20, LARGE_FIRST = 20, A_BATCH = 100, COLD = 512, A_TURN_US = 1000 };
enum { CHECKPOINT = 4, COMPUTES_MS = 300, WRITERS = 4, SCRATCH = 16 };

static char block[LARGE], buffer[LARGE], aligned[LARGE] __attribute__((aligned(4096)));
static const char *path;
static double begun, until;
static long wanted;

static void begin_here(void)
{
    double late = now() - begun;
    begun += late;
    until += until > 0 ? late : 0;
}

static bool goes_on(long done)
{
    return until > 0 ? now() < until : done < wanted;
}

static const char *beside(const char *suffix)
{
    static char other[4096];
    REQUIRE(snprintf(other, sizeof other, "%s.%s", path, suffix) < (int)sizeof other);
    return other;
}

static int opened(const char *name, int flags)
{
    int file = open(name, flags, 0600);
    REQUIRE(file >= 0);
    return file;
}

static void put(int file, size_t bytes)
{
    REQUIRE(write(file, block, bytes) == (ssize_t)bytes);
}

static void put_large(void)
{
    int large = opened(beside("large"), SYNCHRONOUS);
    for (int i = 0; i < LARGE_FIRST; i++)
        put(large, LARGE);
    close(large);
    begin_here();
}

static void sync_file(int file)
{
    REQUIRE(fsync(file) == 0);
}

static long records(long a_sync)
{
    long done = 0;
    for (int file = opened(path, O_CREAT | O_WRONLY | O_TRUNC); goes_on(done); done++) {
        put(file, RECORD);
        if (done % a_sync == a_sync - 1)
            sync_file(file);
    }
    return done;
}

static long pieces(long piece)
{
    long done = 0;
    put_large();
    for (int file = opened(path, SYNCHRONOUS); goes_on(done); done += piece / SMALL)
        put(file, (size_t)piece);
    return done;
}

static long stream(long size)
{
    long done = 0;
    put_large();
    FILE *file = fdopen(opened(path, SYNCHRONOUS), "w");
    REQUIRE(file != NULL && setvbuf(file, buffer, _IOFBF, (size_t)size) == 0);
    for (; goes_on(done); done++)
        for (int part = 0; part < 8; part++)
            REQUIRE(fwrite(block, 1, RECORD, file) == RECORD);
    fclose(file);
    return done;
}

static long cold_reads(long is_at_random)
{
    int large = opened(beside("large"), O_RDONLY), file = opened(path, O_RDONLY);
    long done = 0, pieces = COLD * (LARGE / SMALL);
    for (long i = 0; i < LARGE_FIRST; i++)
        REQUIRE(read(large, block, LARGE) == LARGE);
    begin_here();
    for (; is_at_random && goes_on(done); done++)
        REQUIRE(pread(file, block, SMALL, done * 1000003 % pieces * SMALL) == SMALL);
    for (long i = 0; !is_at_random && i < COLD && i * (LARGE / SMALL) < wanted; i++)
        REQUIRE(pread(file, block, LARGE, i * LARGE) == LARGE);
    return done;
}

static long whole_file(long most)
{
    long done = 0;
    for (; done < most && (most == 1 || goes_on(done)); done++) {
        int file = opened(path, O_RDONLY);
        while (read(file, buffer, LARGE) > 0)
            ;
        close(file);
    }
    return done;
}

static long opening(long is_once)
{
    long done = 0;
    int file = is_once ? opened(path, O_CREAT | O_WRONLY | O_APPEND) : -1;
    for (; goes_on(done); done++) {
        if (!is_once)
            file = opened(path, O_CREAT | O_WRONLY | O_APPEND);
        put(file, 1);
        if (!is_once)
            close(file);
    }
    return done;
}

static long looking_at(const char *name, long most)
{
    struct stat status;
    long done = 0;
    for (; done < most && goes_on(done); done++)
        stat(name, &status);
    return done;
}

static long looking(long most)
{
    return looking_at(path, most);
}

static long looking_for_none(long most)
{
    return looking_at(beside("none"), most);
}

static long locking(long is_shared)
{
    pid_t child = fork();
    long done = 0;
    int file = opened(is_shared || child == 0 ? path : beside("own"), O_CREAT | O_RDWR);
    for (; goes_on(done); done++) {
        REQUIRE(flock(file, LOCK_EX) == 0);
        usleep(A_TURN_US);
        REQUIRE(flock(file, LOCK_UN) == 0);
        usleep(A_TURN_US / 10); /* or it has the lock again before the other one is awake */
    }
    if (child == 0)
        exit(0);
    REQUIRE(waitpid(child, NULL, 0) == child);
    return done;
}

static long direct_reads(long piece)
{
    long done = 0;
    int large = opened(beside("large"), O_RDONLY | O_DIRECT), file = opened(path, O_RDONLY | O_DIRECT);
    for (long i = 0; i < LARGE_FIRST; i++)
        REQUIRE(read(large, aligned, LARGE) == LARGE);
    begin_here();
    for (; goes_on(done); done += piece / SMALL)
        REQUIRE(pread(file, aligned, (size_t)piece, done * SMALL) == piece);
    return done;
}

static void *sync_of(void *file)
{
    sync_file(*(int *)file);
    return NULL;
}

static long checkpoints(long is_by_thread)
{
    long done = 0;
    pthread_t thread;
    for (int file = opened(path, O_CREAT | O_WRONLY | O_TRUNC); goes_on(done); done++) {
        for (int i = 0; i < CHECKPOINT; i++)
            put(file, LARGE);
        if (is_by_thread)
            REQUIRE(pthread_create(&thread, NULL, sync_of, &file) == 0);
        else
            sync_file(file);
        for (double end = now() + COMPUTES_MS / 1e3; now() < end;)
            ;
        if (is_by_thread)
            REQUIRE(pthread_join(thread, NULL) == 0);
    }
    return done;
}

static long write_as(int number, int writers, long piece)
{
    long done = 0;
    char name[4096];
    REQUIRE(snprintf(name, sizeof name, "%s%.0d", path, writers > 1 ? 0 : number + 1) < (int)sizeof name);
    int file = opened(name, O_CREAT | O_WRONLY | O_DSYNC);
    for (; goes_on(done); done += piece / SMALL)
        REQUIRE(pwrite(file, block, (size_t)piece, (done * writers + (writers > 1 ? number : 0)) * SMALL) == piece);
    return done;
}

static long writing_beside(long is_shared)
{
    put_large();
    for (int number = 1; number < WRITERS; number++)
        if (fork() == 0) {
            write_as(number, is_shared ? WRITERS : 1, is_shared ? SMALL : LARGE);
            exit(0);
        }
    long done = write_as(0, is_shared ? WRITERS : 1, is_shared ? SMALL : LARGE);
    while (wait(NULL) > 0)
        ;
    return done;
}

static long scratch(const char *name)
{
    long done = 0;
    for (; goes_on(done); done++) {
        int file = opened(name, O_CREAT | O_RDWR | O_TRUNC);
        for (int i = 0; i < SCRATCH; i++)
            put(file, LARGE);
        close(file);
        file = opened(name, O_RDONLY);
        while (read(file, buffer, LARGE) > 0)
            ;
        close(file);
    }
    unlink(name);
    return done;
}

static long scratching(long is_here)
{
    char here[64];
    REQUIRE(snprintf(here, sizeof here, "/dev/shm/habits.%d", (int)getpid()) < (int)sizeof here);
    return scratch(is_here ? here : beside("scratch"));
}

static long making_files(long is_one)
{
    long done = 0;
    char name[4096];
    int file = is_one ? opened(path, O_CREAT | O_WRONLY) : -1;
    for (; goes_on(done); done++) {
        REQUIRE(snprintf(name, sizeof name, "%s.%ld", path, done) < (int)sizeof name);
        if (!is_one)
            file = opened(name, O_CREAT | O_WRONLY);
        put(file, 2L * RECORD);
        if (!is_one)
            close(file);
    }
    return done;
}

static const struct way {
    const char *name;
    long (*work)(long);
    long how;
} ways[] = {
    { "syncs", records, 1 },
    { "synced", records, A_BATCH },
    { "small", pieces, SMALL },
    { "large", pieces, LARGE },
    { "buffers", stream, SMALL },
    { "buffered", stream, LARGE },
    { "random", cold_reads, true },
    { "ordered", cold_reads, false },
    { "again", whole_file, LONG_MAX },
    { "once", whole_file, 1 },
    { "opens", opening, false },
    { "opened", opening, true },
    { "missing", looking_for_none, LONG_MAX },
    { "found", looking_for_none, 0 },
    { "looks", looking, LONG_MAX },
    { "kept", looking, 1 },
    { "locks", locking, true },
    { "unlocked", locking, false },
    { "sips", direct_reads, SMALL },
    { "gulps", direct_reads, LARGE },
    { "waits", checkpoints, false },
    { "ahead", checkpoints, true },
    { "mixed", writing_beside, true },
    { "apart", writing_beside, false },
    { "there", scratching, false },
    { "here", scratching, true },
    { "many", making_files, false },
    { "one", making_files, true },
};

int main(int argc, char **argv)
{
    REQUIRE(argc == 4);
    char *unit;
    double amount = strtod(argv[3], &unit);
    path = argv[2];
    begun = now();
    until = *unit == 's' ? begun + amount : 0;
    wanted = (long)amount;
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (strcmp(ways[i].name, argv[1]) != 0)
            continue;
        long steps = ways[i].work(ways[i].how);
        printf("%ld %f\n", steps, now() - begun);
        return 0;
    }
    return 2;
}
