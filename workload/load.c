/* slicewise-load: an MPI job that moves a volume which does not depend on its size, in the way of IOR and IMB-IO: what jobs need in
 * order to compete for the same storage. Every rank moves whole transfers to or from a file of its own, or its own part of one shared
 * file, or many small files, and the first rank of each group prints one line. Between transfers it can do as jobs do that compute,
 * work in phases, or move no more than they have to. Errors end the job with one line and status 1, wrong options with status 2.
 * Built with either MPI's mpicc; it knows nothing of Slicewise. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "slicewise-load"
#include "common.h"

enum { PHASES_MOST = 64 };

struct load {
    const char *path;
    int64_t volume_bytes; /* of a whole group, in one repeat */
    int64_t transfer_bytes;
    int64_t block_bytes; /* that a process has in one stretch of the shared file; 0: all that it moves */
    int64_t small_bytes; /* of the calls of every second transfer; 0: all calls are of a whole transfer */
    int64_t rate_bytes;  /* that each process moves at most in a second; 0: as many as it can */
    int repeats;
    int files;  /* of each process, which are written and removed again one by one; 0: none */
    int second; /* ranks of the second group */
    bool is_mpiio, is_collective, is_reading, is_shared, is_strided, is_random, is_direct, is_stored_by_call, is_synced, is_removed, is_phased,
        is_scheduled;
    double compute_seconds;
    double start_at; /* seconds of CLOCK_REALTIME; 0: at once */
    double phases_at[PHASES_MOST]; /* seconds after the start at which each repeat begins, where is_scheduled */
    double delay;    /* seconds that the second group begins later */
};

/* The ranks that move one volume together. */
struct group {
    MPI_Comm comm;
    int rank, ranks;
    bool is_second;
};

/* The transfers of one rank: `count` of them in blocks, the first block at byte `offset` of its file, the next ones `stride` bytes further. */
struct part {
    char path[4096];
    int64_t offset, stride;
    int64_t a_block; /* transfers */
    int64_t count;
    int64_t rounds; /* transfers of the rank that has most: collective calls need every rank to take part */
    int64_t *order; /* in which they are done; NULL: one after the other */
};

static const char usage[] =
    "usage: slicewise-load [options] PATH\n"
    "  --volume BYTES     of the whole job, whatever its size (64M; K, M and G are powers of 1024)\n"
    "  --transfer BYTES   of one call (1M); the volume is a multiple of it\n"
    "  --repeats N        go over the same bytes N times (1)\n"
    "  --api API          posix or mpiio (posix)\n"
    "  --collective       the collective calls of MPI-IO\n"
    "  --read             read files that an earlier job wrote with the same options\n"
    "  --shared           one file PATH; else a file PATH.RANK a process\n"
    "  --strided          the processes' transfers lie in turn in the shared file; else each process has one stretch of it\n"
    "  --block BYTES      the processes' stretches of so many bytes lie in turn in the shared file\n"
    "  --random           each process does its transfers in an order of chance\n"
    "  --direct           O_DIRECT (posix)\n"
    "  --dsync            O_DSYNC: each transfer is stored before the next begins (posix)\n"
    "  --fsync            sync each file after each repeat of writing\n"
    "  --files N          each process writes N files of one transfer, one by one, and removes each; there is no volume then (posix)\n"
    "  --mixed BYTES      every second transfer is moved in calls of so many bytes (posix)\n"
    "  --rate BYTES       each process moves no more than so many bytes a second\n"
    "  --phases           each repeat is a phase: all processes begin it together\n"
    "  --phases-at S,S    phases that begin so many seconds after the start, or when the one before is over; a line each is printed\n"
    "  --compute SECONDS  after each transfer, or after each phase; the processes sleep, so that jobs do not compete for processors\n"
    "  --remove           remove the files at the end\n"
    "  --start-at EPOCH   files are open by then: begin at this second of the clock, so that several jobs begin together\n"
    "  --second N         the last N processes are a second group, with a volume and files PATH.second of its own\n"
    "  --delay SECONDS    the second group begins so much later than the first; before it if negative\n";

static void check_mpi(int error, const char *what, const char *path)
{
    if (error == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    fail(1, "%s %s: %s", what, path, text);
}

static int count_of(const char *text)
{
    char *end;
    errno = 0;
    long count = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || count < 1 || count > INT32_MAX)
        refuse("'%s' is not a count: give a whole number above 0", text);
    return (int)count;
}

static double seconds_of(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > -1e12 && seconds < 1e12))
        refuse("'%s' is not a number of seconds", text);
    return seconds;
}

/* Each number of the list is a phase's beginning. */
static void read_phases(struct load *load, char *text)
{
    load->is_phased = load->is_scheduled = true;
    load->repeats = 0;
    for (char *rest, *one = strtok_r(text, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest)) {
        if (load->repeats == PHASES_MOST)
            refuse("--phases-at takes at most %d phases", PHASES_MOST);
        load->phases_at[load->repeats++] = seconds_of(one);
    }
}

static bool is_mpiio(const char *text)
{
    if (strcmp(text, "posix") != 0 && strcmp(text, "mpiio") != 0)
        refuse("there is no API '%s': posix or mpiio", text);
    return text[0] == 'm';
}

static void check(const struct load *load, int ranks)
{
    if (load->files == 0 && load->volume_bytes % load->transfer_bytes != 0)
        refuse("the volume is not a multiple of the transfer size");
    if (load->transfer_bytes > INT32_MAX)
        refuse("a transfer is less than 2G");
    if (load->is_mpiio && (load->is_direct || load->is_stored_by_call))
        refuse("--direct and --dsync need --api posix");
    if (load->is_collective && !(load->is_mpiio && load->is_shared))
        refuse("--collective needs --api mpiio and --shared");
    if (load->is_strided && !load->is_shared)
        refuse("--strided needs --shared");
    if (load->block_bytes > 0 && (!load->is_shared || load->is_strided))
        refuse("--block needs --shared, and not --strided, whose blocks are one transfer");
    if (load->block_bytes > 0 && (load->block_bytes % load->transfer_bytes != 0 || load->volume_bytes % load->block_bytes != 0))
        refuse("a block is a multiple of the transfer size, and the volume one of it");
    if (load->is_random && load->files > 0)
        refuse("--random does not go with --files");
    if (load->files > 0 && (load->is_mpiio || load->is_shared || load->is_reading))
        refuse("--files needs --api posix, and neither --shared nor --read");
    if (load->small_bytes > 0 && (load->is_mpiio || load->transfer_bytes % load->small_bytes != 0))
        refuse("--mixed needs --api posix, and a transfer that is a multiple of it");
    if (load->compute_seconds < 0)
        refuse("--compute takes no less than 0 seconds");
    if (load->second >= ranks)
        refuse("--second %d of %d processes leaves none for the first group", load->second, ranks);
    if (load->delay != 0 && load->second == 0)
        refuse("--delay needs a second group: --second N");
    if (load->is_scheduled && (load->repeats < 1 || load->files > 0))
        refuse("--phases-at needs a time for each phase, and not --files");
}

static struct load parse(int argc, char **argv, int rank)
{
    static const struct option options[] = {
        { "volume", required_argument, NULL, 'v' },
        { "transfer", required_argument, NULL, 't' },
        { "repeats", required_argument, NULL, 'n' },
        { "api", required_argument, NULL, 'a' },
        { "collective", no_argument, NULL, 'c' },
        { "read", no_argument, NULL, 'r' },
        { "shared", no_argument, NULL, 's' },
        { "strided", no_argument, NULL, 'i' },
        { "direct", no_argument, NULL, 'd' },
        { "dsync", no_argument, NULL, 'D' },
        { "fsync", no_argument, NULL, 'f' },
        { "remove", no_argument, NULL, 'x' },
        { "start-at", required_argument, NULL, '@' },
        { "second", required_argument, NULL, '2' },
        { "delay", required_argument, NULL, '+' },
        { "files", required_argument, NULL, 'F' },
        { "mixed", required_argument, NULL, 'm' },
        { "rate", required_argument, NULL, 'R' },
        { "phases", no_argument, NULL, 'p' },
        { "compute", required_argument, NULL, 'C' },
        { "phases-at", required_argument, NULL, 'P' },
        { "block", required_argument, NULL, 'b' },
        { "random", no_argument, NULL, 'o' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    struct load load = { .volume_bytes = 64 << 20, .transfer_bytes = 1 << 20, .repeats = 1 };
    opterr = rank == 0;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case 'v': load.volume_bytes = bytes_of(optarg); break;
        case 't': load.transfer_bytes = bytes_of(optarg); break;
        case 'n': load.repeats = count_of(optarg); break;
        case 'a': load.is_mpiio = is_mpiio(optarg); break;
        case 'c': load.is_collective = true; break;
        case 'r': load.is_reading = true; break;
        case 's': load.is_shared = true; break;
        case 'i': load.is_strided = true; break;
        case 'b': load.block_bytes = bytes_of(optarg); break;
        case 'o': load.is_random = true; break;
        case 'd': load.is_direct = true; break;
        case 'D': load.is_stored_by_call = true; break;
        case 'f': load.is_synced = true; break;
        case 'x': load.is_removed = true; break;
        case '@': load.start_at = seconds_of(optarg); break;
        case '2': load.second = count_of(optarg); break;
        case '+': load.delay = seconds_of(optarg); break;
        case 'F': load.files = count_of(optarg); break;
        case 'm': load.small_bytes = bytes_of(optarg); break;
        case 'R': load.rate_bytes = bytes_of(optarg); break;
        case 'p': load.is_phased = true; break;
        case 'P': read_phases(&load, optarg); break;
        case 'h':
            if (rank == 0)
                fputs(usage, stdout);
            MPI_Finalize();
            exit(0);
        case 'C': load.compute_seconds = seconds_of(optarg); break;
        default: refuse("no such option, or one without its value; see slicewise-load --help");
        }
    if (optind != argc - 1)
        refuse("%s, as in: slicewise-load --volume 1G FILE; all options: slicewise-load --help",
               optind == argc ? "PATH is missing" : "give one PATH, after the options");
    load.path = argv[optind];
    load.is_synced &= !load.is_reading;
    return load;
}

static struct group group_of(const struct load *load, int rank, int ranks)
{
    struct group group = { .is_second = rank >= ranks - load->second };
    MPI_Comm_split(MPI_COMM_WORLD, group.is_second, rank, &group.comm);
    MPI_Comm_rank(group.comm, &group.rank);
    MPI_Comm_size(group.comm, &group.ranks);
    return group;
}

/* The same for a rank in each run, so that who reads goes the way of nobody else. */
static int64_t *order_of(int64_t count, int rank)
{
    int64_t *order = malloc((size_t)(count > 0 ? count : 1) * sizeof *order);
    if (order == NULL)
        fail(1, "no memory for the order of %lld transfers", (long long)count);
    unsigned short state[3] = { 0x330E, (unsigned short)rank, (unsigned short)(rank >> 16) };
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (int64_t)(erand48(state) * (double)(i + 1));
        order[i] = order[at];
        order[at] = i;
    }
    return order;
}

static struct part part_of(const struct load *load, const struct group *group)
{
    int64_t transfers = load->volume_bytes / load->transfer_bytes;
    int64_t first = transfers * group->rank / group->ranks;
    struct part part = {
        .count = transfers * (group->rank + 1) / group->ranks - first,
        .offset = load->is_shared ? first * load->transfer_bytes : 0,
        .stride = load->transfer_bytes,
        .a_block = 1,
        .rounds = (transfers + group->ranks - 1) / group->ranks,
    };
    if (load->files > 0)
        part.count = load->files;
    int64_t block_bytes = load->is_strided ? load->transfer_bytes : load->block_bytes;
    if (block_bytes > 0) {
        int64_t blocks = load->volume_bytes / block_bytes;
        part.a_block = block_bytes / load->transfer_bytes;
        part.count = (blocks - group->rank + group->ranks - 1) / group->ranks * part.a_block;
        part.rounds = (blocks + group->ranks - 1) / group->ranks * part.a_block;
        part.offset = group->rank * block_bytes;
        part.stride = group->ranks * block_bytes;
    }
    if (load->is_random)
        part.order = order_of(part.count, group->rank);
    const char *second = group->is_second ? ".second" : "";
    int length = load->is_shared ? snprintf(part.path, sizeof part.path, "%s%s", load->path, second)
                                 : snprintf(part.path, sizeof part.path, "%s%s.%d", load->path, second, group->rank);
    if (length >= (int)sizeof part.path)
        fail(2, "the path is too long");
    return part;
}

/* What a rank has moved so far, and how long its calls took, opening and removal of its files included: by its own clock, for who
 * wants to check what others say of it. */
struct moved {
    int64_t bytes;
    double seconds;
    double phase_begins[PHASES_MOST], phase_ends[PHASES_MOST]; /* where is_scheduled */
};

/* A rank's file, as POSIX or as MPI-IO has it. */
union file {
    int fd;
    MPI_File mpi;
};

static union file open_part(const struct load *load, const struct group *group, const struct part *part)
{
    union file file;
    if (load->is_mpiio) {
        int mode = load->is_reading ? MPI_MODE_RDONLY : MPI_MODE_WRONLY | MPI_MODE_CREATE;
        check_mpi(MPI_File_open(load->is_shared ? group->comm : MPI_COMM_SELF, part->path, mode, MPI_INFO_NULL, &file.mpi), "open", part->path);
        return file;
    }
    int flags = (load->is_reading ? O_RDONLY : O_WRONLY | O_CREAT) | (load->is_direct ? O_DIRECT : 0) | (load->is_stored_by_call ? O_DSYNC : 0);
    file.fd = open(part->path, flags, 0644);
    if (file.fd < 0)
        fail(1, "open %s: %s", part->path, strerror(errno));
    return file;
}

static void transfer_posix(const struct load *load, const char *path, int fd, char *buffer, off_t offset, bool is_in_small_calls)
{
    size_t size = (size_t)(is_in_small_calls ? load->small_bytes : load->transfer_bytes);
    for (off_t end = offset + load->transfer_bytes; offset < end; offset += (off_t)size) {
        ssize_t moved = load->is_reading ? pread(fd, buffer, size, offset) : pwrite(fd, buffer, size, offset);
        if (moved != (ssize_t)size)
            fail(1, "%s %s at byte %lld: %s", load->is_reading ? "read" : "write", path, (long long)offset,
                 moved < 0 ? strerror(errno) : "less than was asked for");
    }
}

static void sync_posix(const char *path, int fd)
{
    if (fsync(fd) != 0)
        fail(1, "fsync %s: %s", path, strerror(errno));
}

static void close_posix(const char *path, int fd)
{
    if (close(fd) != 0)
        fail(1, "close %s: %s", path, strerror(errno));
}

/* The byte of its file at which a rank's i-th transfer begins. */
static int64_t place_of(const struct load *load, const struct part *part, int64_t i)
{
    if (part->order != NULL && i < part->count)
        i = part->order[i];
    return part->offset + i / part->a_block * part->stride + i % part->a_block * load->transfer_bytes;
}

static int64_t transfer_mpiio(const struct load *load, const struct part *part, MPI_File file, char *buffer, int64_t i)
{
    MPI_Offset offset = place_of(load, part, i);
    int size = i < part->count ? (int)load->transfer_bytes : 0;
    MPI_Status status;
    int error;
    if (load->is_collective)
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
    return moved;
}

/* A file of the storm: of one transfer, made, written and removed. */
static int64_t pass_file(const struct load *load, const struct part *part, char *buffer, int64_t i)
{
    struct part one = { 0 };
    if (snprintf(one.path, sizeof one.path, "%s.%lld", part->path, (long long)i) >= (int)sizeof one.path)
        fail(2, "the path is too long");
    int fd = open_part(load, NULL, &one).fd;
    transfer_posix(load, one.path, fd, buffer, 0, load->small_bytes > 0 && i % 2 == 1);
    if (load->is_synced)
        sync_posix(one.path, fd);
    close_posix(one.path, fd);
    if (unlink(one.path) != 0)
        fail(1, "unlink %s: %s", one.path, strerror(errno));
    return load->transfer_bytes;
}

static int64_t move_one(const struct load *load, const struct part *part, union file file, char *buffer, int64_t i)
{
    if (load->files > 0)
        return pass_file(load, part, buffer, i);
    if (load->is_mpiio)
        return transfer_mpiio(load, part, file.mpi, buffer, i);
    transfer_posix(load, part->path, file.fd, buffer, place_of(load, part, i), load->small_bytes > 0 && i % 2 == 1);
    return load->transfer_bytes;
}

static void sync_part(const struct load *load, const struct part *part, union file file)
{
    if (!load->is_synced || load->files > 0)
        return;
    if (load->is_mpiio)
        check_mpi(MPI_File_sync(file.mpi), "sync", part->path);
    else
        sync_posix(part->path, file.fd);
}

static void close_part(const struct load *load, const struct part *part, union file file)
{
    if (load->files > 0)
        return;
    if (load->is_mpiio)
        check_mpi(MPI_File_close(&file.mpi), "close", part->path);
    else
        close_posix(part->path, file.fd);
}

/* Both groups have their own files: whoever made one removes it, the first rank the one that all of a group share. */
static void remove_part(const struct load *load, const struct group *group, const struct part *part)
{
    if (!load->is_removed || load->files > 0)
        return;
    if (load->is_shared)
        meet(group->comm);
    if (group->rank == 0 || !load->is_shared)
        unlink(part->path);
}

/* Moves a rank's part and ends with its file; `moved` says what of that was done before. */
static struct moved move(const struct load *load, const struct group *group, const struct part *part, union file file, char *buffer,
                         struct moved moved)
{
    double start = now(), epoch = load->start_at > 0 ? load->start_at + (group->is_second ? load->delay : 0) : start;
    int64_t rounds = load->is_collective ? part->rounds : part->count;
    for (int repeat = 0; repeat < load->repeats; repeat++) {
        if (load->is_scheduled)
            sleep_for(epoch + load->phases_at[repeat] - now());
        if (load->is_phased)
            meet(group->comm);
        if (load->is_scheduled)
            moved.phase_begins[repeat] = now();
        for (int64_t i = 0; i < rounds; i++) {
            if (load->rate_bytes > 0)
                sleep_for(start + (double)moved.bytes / (double)load->rate_bytes - now());
            double began = now();
            moved.bytes += move_one(load, part, file, buffer, i);
            moved.seconds += now() - began;
            if (!load->is_phased)
                sleep_for(load->compute_seconds);
        }
        double began = now();
        sync_part(load, part, file);
        moved.seconds += now() - began;
        if (load->is_scheduled)
            moved.phase_ends[repeat] = now();
        if (load->is_phased)
            sleep_for(load->compute_seconds);
    }
    double began = now();
    close_part(load, part, file);
    remove_part(load, group, part);
    moved.seconds += now() - began;
    return moved;
}

/* Sleeps until the group's turn. Without --start-at the first group's is now, or the second's if that comes before. */
static void wait_for_start(const struct load *load, const struct group *group)
{
    double first_start = now() + (load->delay < 0 ? -load->delay : 0);
    MPI_Bcast(&first_start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (load->start_at > 0)
        first_start = load->start_at;
    sleep_for(first_start + (group->is_second ? load->delay : 0) - now());
    MPI_Barrier(group->comm);
}

/* From the first process's beginning to the last one's end. */
static void report_phases(const struct load *load, const struct group *group, const struct moved *moved)
{
    double begins[PHASES_MOST], ends[PHASES_MOST];
    MPI_Reduce(moved->phase_begins, begins, load->repeats, MPI_DOUBLE, MPI_MIN, 0, group->comm);
    MPI_Reduce(moved->phase_ends, ends, load->repeats, MPI_DOUBLE, MPI_MAX, 0, group->comm);
    for (int phase = 0; phase < load->repeats && group->rank == 0; phase++)
        printf("phase %d: %.3f s from %.3f\n", phase + 1, ends[phase] - begins[phase], begins[phase]);
}

static void report(const struct load *load, const struct group *group, double start, double end, const struct moved *moved)
{
    int64_t all_bytes;
    double first_start, last_end, most_in_calls, all_in_calls;
    meet(group->comm);
    MPI_Reduce(&moved->bytes, &all_bytes, 1, MPI_INT64_T, MPI_SUM, 0, group->comm);
    MPI_Reduce(&start, &first_start, 1, MPI_DOUBLE, MPI_MIN, 0, group->comm);
    MPI_Reduce(&end, &last_end, 1, MPI_DOUBLE, MPI_MAX, 0, group->comm);
    MPI_Reduce(&moved->seconds, &most_in_calls, 1, MPI_DOUBLE, MPI_MAX, 0, group->comm);
    MPI_Reduce(&moved->seconds, &all_in_calls, 1, MPI_DOUBLE, MPI_SUM, 0, group->comm);
    if (group->rank == 0)
        printf("%d processes %s %lld bytes in %.3f s: %.2f MiB/s, in calls %.3f s at most, %.3f s in the mean, from %.3f\n", group->ranks,
               load->is_reading ? "read" : "wrote", (long long)all_bytes, last_end - first_start,
               (double)all_bytes / (last_end - first_start) / (1 << 20), most_in_calls, all_in_calls / group->ranks, first_start);
    if (load->is_scheduled)
        report_phases(load, group, moved);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct load load = parse(argc, argv, rank);
    check(&load, ranks);
    struct group group = group_of(&load, rank, ranks);
    struct part part = part_of(&load, &group);
    char *buffer = aligned_alloc(4096, ((size_t)load.transfer_bytes + 4095) / 4096 * 4096);
    if (buffer == NULL)
        fail(1, "no memory for a transfer of %lld bytes", (long long)load.transfer_bytes);
    memset(buffer, 'A' + rank % 26, (size_t)load.transfer_bytes);

    /* Opened before: behind the data of another job it would take as long as many transfers, and start this one's late. */
    union file file = { 0 };
    double opened = now();
    if (load.files == 0)
        file = open_part(&load, &group, &part);
    struct moved before = { .seconds = now() - opened };
    wait_for_start(&load, &group);
    double start = now();
    struct moved moved = move(&load, &group, &part, file, buffer, before);
    double end = now();
    report(&load, &group, start, end, &moved);
    free(part.order);
    free(buffer);
    MPI_Finalize();
    return 0;
}
