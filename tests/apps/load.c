/* An MPI job that moves a volume which does not depend on its size: what two jobs need in order to compete for the same storage.
 * Every rank moves whole transfers to or from a file of its own, or its own contiguous part of one shared file, and rank 0 prints one
 * line. Errors end the job with one line and status 1, wrong options with status 2. Built with either MPI's mpicc, without Slicewise. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum api { POSIX, MPIIO, MPIIO_COLLECTIVE };

struct load {
    const char *path;
    enum api api;
    int64_t volume_bytes; /* of the whole job, in one repeat */
    int64_t transfer_bytes;
    int repeats;
    bool is_reading, is_shared, is_direct, is_stored_by_call, is_synced, is_removed;
    double start_at; /* seconds of CLOCK_REALTIME; 0: at once */
};

/* The transfers of one rank: `count` of them, the first at byte `offset` of its file. */
struct part {
    char path[4096];
    int64_t offset;
    int64_t count;
    int64_t rounds; /* transfers of the rank that has most: collective calls need every rank to take part */
};

static int rank, ranks;

static const char usage[] =
    "usage: load [options] PATH\n"
    "  --volume BYTES     of the whole job, whatever its size (64M; K, M and G are powers of 1024)\n"
    "  --transfer BYTES   of one call (1M); the volume is a multiple of it\n"
    "  --repeats N        go over the same bytes N times (1)\n"
    "  --api API          posix, mpiio or mpiio-collective (posix)\n"
    "  --read             read files that an earlier load wrote with the same options\n"
    "  --shared           one file PATH; else a file PATH.RANK a process\n"
    "  --direct           O_DIRECT (posix)\n"
    "  --dsync            O_DSYNC: each transfer is stored before the next begins (posix)\n"
    "  --fsync            sync each file after each repeat\n"
    "  --remove           remove the files at the end\n"
    "  --start-at EPOCH   begin at this second of the clock, so that several jobs begin together\n";

__attribute__((format(printf, 2, 3), noreturn)) static void fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "load: ");
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, status);
    abort();
}

static void check_mpi(int error, const char *what, const char *path)
{
    if (error == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    fail(1, "%s %s: %s", what, path, text);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int64_t bytes_of(const char *text)
{
    char *end;
    errno = 0;
    int64_t bytes = strtoll(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (errno != 0 || end == text || end[shift > 0] != '\0' || bytes <= 0 || bytes > INT64_MAX >> shift)
        fail(2, "'%s' is not a size: say for instance 4096, 64K, 100M or 2G", text);
    return bytes << shift;
}

static enum api api_of(const char *text)
{
    static const char *const names[] = { [POSIX] = "posix", [MPIIO] = "mpiio", [MPIIO_COLLECTIVE] = "mpiio-collective" };
    for (int api = POSIX; api <= MPIIO_COLLECTIVE; api++)
        if (strcmp(text, names[api]) == 0)
            return (enum api)api;
    fail(2, "there is no API '%s': posix, mpiio or mpiio-collective", text);
}

static struct load parse(int argc, char **argv)
{
    static const struct option options[] = {
        { "volume", required_argument, NULL, 'v' },   { "transfer", required_argument, NULL, 't' }, { "repeats", required_argument, NULL, 'n' },
        { "api", required_argument, NULL, 'a' },      { "read", no_argument, NULL, 'r' },           { "shared", no_argument, NULL, 's' },
        { "direct", no_argument, NULL, 'd' },         { "fsync", no_argument, NULL, 'f' },          { "remove", no_argument, NULL, 'x' },
        { "start-at", required_argument, NULL, '@' }, { "dsync", no_argument, NULL, 'D' },          { 0 },
    };
    struct load load = { .volume_bytes = 64 << 20, .transfer_bytes = 1 << 20, .repeats = 1 };
    opterr = rank == 0;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case 'v': load.volume_bytes = bytes_of(optarg); break;
        case 't': load.transfer_bytes = bytes_of(optarg); break;
        case 'n': load.repeats = atoi(optarg); break;
        case 'a': load.api = api_of(optarg); break;
        case 'r': load.is_reading = true; break;
        case 's': load.is_shared = true; break;
        case 'd': load.is_direct = true; break;
        case 'D': load.is_stored_by_call = true; break;
        case 'f': load.is_synced = true; break;
        case 'x': load.is_removed = true; break;
        case '@': load.start_at = atof(optarg); break;
        default: fail(2, "wrong options\n%s", usage);
        }
    if (optind != argc - 1)
        fail(2, "one PATH is needed\n%s", usage);
    load.path = argv[optind];
    if (load.repeats < 1)
        fail(2, "--repeats is at least 1");
    if (load.volume_bytes % load.transfer_bytes != 0)
        fail(2, "the volume is not a multiple of the transfer size");
    if (load.transfer_bytes > INT32_MAX)
        fail(2, "a transfer is less than 2G");
    if ((load.is_direct || load.is_stored_by_call) && load.api != POSIX)
        fail(2, "--direct and --dsync need --api posix");
    return load;
}

static struct part part_of(const struct load *load)
{
    int64_t transfers = load->volume_bytes / load->transfer_bytes;
    int64_t first = transfers * rank / ranks;
    struct part part = {
        .count = transfers * (rank + 1) / ranks - first,
        .offset = load->is_shared ? first * load->transfer_bytes : 0,
        .rounds = (transfers + ranks - 1) / ranks,
    };
    int length = load->is_shared ? snprintf(part.path, sizeof part.path, "%s", load->path)
                                 : snprintf(part.path, sizeof part.path, "%s.%d", load->path, rank);
    if (length >= (int)sizeof part.path)
        fail(2, "the path is too long");
    return part;
}

static int64_t move_posix(const struct load *load, const struct part *part, char *buffer)
{
    int flags = (load->is_reading ? O_RDONLY : O_WRONLY | O_CREAT) | (load->is_direct ? O_DIRECT : 0) |
                (load->is_stored_by_call ? O_DSYNC : 0);
    int fd = open(part->path, flags, 0644);
    if (fd < 0)
        fail(1, "open %s: %s", part->path, strerror(errno));
    int64_t bytes = 0;
    for (int repeat = 0; repeat < load->repeats; repeat++) {
        for (int64_t i = 0; i < part->count; i++) {
            off_t offset = part->offset + i * load->transfer_bytes;
            size_t size = (size_t)load->transfer_bytes;
            ssize_t moved = load->is_reading ? pread(fd, buffer, size, offset) : pwrite(fd, buffer, size, offset);
            if (moved != load->transfer_bytes)
                fail(1, "%s %s at byte %lld: %s", load->is_reading ? "read" : "write", part->path, (long long)offset,
                     moved < 0 ? strerror(errno) : "less than a transfer");
            bytes += moved;
        }
        if (load->is_synced && fsync(fd) != 0)
            fail(1, "fsync %s: %s", part->path, strerror(errno));
    }
    if (close(fd) != 0)
        fail(1, "close %s: %s", part->path, strerror(errno));
    return bytes;
}

static int64_t move_mpiio(const struct load *load, const struct part *part, char *buffer)
{
    MPI_File file;
    int mode = load->is_reading ? MPI_MODE_RDONLY : MPI_MODE_WRONLY | MPI_MODE_CREATE;
    check_mpi(MPI_File_open(load->is_shared ? MPI_COMM_WORLD : MPI_COMM_SELF, part->path, mode, MPI_INFO_NULL, &file), "open", part->path);
    int64_t rounds = load->api == MPIIO_COLLECTIVE && load->is_shared ? part->rounds : part->count;
    int64_t bytes = 0;
    for (int repeat = 0; repeat < load->repeats; repeat++) {
        for (int64_t i = 0; i < rounds; i++) {
            MPI_Offset offset = part->offset + i * load->transfer_bytes;
            int size = i < part->count ? (int)load->transfer_bytes : 0;
            MPI_Status status;
            int error;
            if (load->api == MPIIO_COLLECTIVE)
                error = load->is_reading ? MPI_File_read_at_all(file, offset, buffer, size, MPI_BYTE, &status)
                                         : MPI_File_write_at_all(file, offset, buffer, size, MPI_BYTE, &status);
            else
                error = load->is_reading ? MPI_File_read_at(file, offset, buffer, size, MPI_BYTE, &status)
                                         : MPI_File_write_at(file, offset, buffer, size, MPI_BYTE, &status);
            check_mpi(error, load->is_reading ? "read" : "write", part->path);
            int moved;
            MPI_Get_count(&status, MPI_BYTE, &moved);
            if (moved != size)
                fail(1, "%s: %d of %d bytes moved at byte %lld", part->path, moved, size, (long long)offset);
            bytes += moved;
        }
        if (load->is_synced)
            check_mpi(MPI_File_sync(file), "sync", part->path);
    }
    check_mpi(MPI_File_close(&file), "close", part->path);
    return bytes;
}

static void wait_for_start(double start_at)
{
    double seconds = start_at - now();
    if (seconds > 0) {
        struct timespec time = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
        while (nanosleep(&time, &time) != 0 && errno == EINTR)
            continue;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct load load = parse(argc, argv);
    struct part part = part_of(&load);
    char *buffer = aligned_alloc(4096, ((size_t)load.transfer_bytes + 4095) / 4096 * 4096);
    if (buffer == NULL)
        fail(1, "no memory for a transfer of %lld bytes", (long long)load.transfer_bytes);
    memset(buffer, 'A' + rank % 26, (size_t)load.transfer_bytes);

    wait_for_start(load.start_at);
    double start = now();
    int64_t bytes = load.api == POSIX ? move_posix(&load, &part, buffer) : move_mpiio(&load, &part, buffer);
    double end = now();

    int64_t all_bytes;
    double first_start, last_end;
    MPI_Reduce(&bytes, &all_bytes, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&start, &first_start, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last_end, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d processes %s %lld bytes in %.3f s: %.2f MiB/s, from %.3f\n", ranks, load.is_reading ? "read" : "wrote",
               (long long)all_bytes, last_end - first_start, (double)all_bytes / (last_end - first_start) / (1 << 20), first_start);
    if (load.is_removed && (rank == 0 || !load.is_shared))
        unlink(part.path);
    free(buffer);
    MPI_Finalize();
    return 0;
}
