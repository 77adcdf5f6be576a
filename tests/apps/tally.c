/* Counts its own calls in a file of its own, in shared memory, after each call has returned: what a profile must hold at least, however this
 * ends. tally MODE THREADS SECONDS TALLY DIRECTORY OTHER_DIRECTORY: `steady` keeps to one file a thread; `restless` goes round files on
 * two mounts and in memory, a device, a pipe, a socket and streams, more than a lane has cells for, so that records are made all the time. */
#include "scenario.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define THREADS_MAX 64
#define UNTOUCHED 4242 /* errno: no call here fails, so nothing may change it, whatever the profiler does meanwhile */

struct tally {
    _Atomic uint64_t posix_writes, posix_write_bytes, stdio_writes, stdio_write_bytes, reads, read_bytes;
    uint64_t unused[2]; /* one cache line a thread */
};

static struct tally *tallies;
static const char *mode, *directories[2];
static double end;

static int make_file(int directory, const char *kind, long thread)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s%ld", directories[directory], kind, thread);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    REQUIRE(fd >= 0);
    return fd;
}

static void add(_Atomic uint64_t *calls, _Atomic uint64_t *bytes, long moved)
{
    REQUIRE(moved > 0 && errno == UNTOUCHED);
    atomic_fetch_add(bytes, (uint64_t)moved);
    atomic_fetch_add(calls, 1);
}

static void be_steady(struct tally *tally, long thread)
{
    static const char block[4096];
    char buffer[4096];
    int fd = make_file(0, "steady", thread);
    for (unsigned i = 1; now() < end; i++) {
        add(&tally->posix_writes, &tally->posix_write_bytes, pwrite(fd, block, 1 + i % sizeof block, i % 1000));
        add(&tally->reads, &tally->read_bytes, pread(fd, buffer, 1 + i % 500, 0));
    }
}

static void be_restless(struct tally *tally, long thread)
{
    static const char block[4096];
    int memory = memfd_create("memory", 0), null = open("/dev/null", O_WRONLY), pipe_ends[2], sockets[2];
    const int descriptors[] = { make_file(0, "here", thread), make_file(1, "there", thread), memory, null };
    FILE *const streams[] = { fdopen(make_file(0, "near", thread), "w"), fdopen(make_file(1, "far", thread), "w"), fdopen(memory, "w"),
                              fopen("/dev/null", "w") };
    REQUIRE(pipe(pipe_ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    char buffer[4096];
    for (unsigned i = 1; now() < end; i++) {
        size_t size = 1 + i % 1000;
        for (int k = 0; k < 4; k++) {
            add(&tally->posix_writes, &tally->posix_write_bytes, pwrite(descriptors[k], block, size, 0));
            add(&tally->stdio_writes, &tally->stdio_write_bytes, (long)fwrite(block, 1, size, streams[k]));
        }
        add(&tally->posix_writes, &tally->posix_write_bytes, write(pipe_ends[1], block, size));
        add(&tally->reads, &tally->read_bytes, read(pipe_ends[0], buffer, size));
        add(&tally->posix_writes, &tally->posix_write_bytes, write(sockets[1], block, size));
        add(&tally->reads, &tally->read_bytes, read(sockets[0], buffer, size));
    }
}

static void *work(void *number)
{
    long thread = (long)number;
    errno = UNTOUCHED;
    if (strcmp(mode, "steady") == 0)
        be_steady(&tallies[thread], thread);
    else
        be_restless(&tallies[thread], thread);
    return NULL;
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 7);
    mode = argv[1];
    long count = atol(argv[2]);
    end = now() + atof(argv[3]);
    directories[0] = argv[5];
    directories[1] = argv[6];
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, argv[4], O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(count <= THREADS_MAX && fd >= 0 && ftruncate(fd, THREADS_MAX * sizeof *tallies) == 0);
    tallies = mmap(NULL, THREADS_MAX * sizeof *tallies, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(tallies != MAP_FAILED);
    unseen_syscall(SYS_close, fd);
    pthread_t threads[THREADS_MAX];
    for (long i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
