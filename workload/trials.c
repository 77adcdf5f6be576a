/* slicewise-trials: an MPI program that measures bandwidth and latency of one transfer size after the other, as `slicewise storage measure` asks
 * for them. Each trial takes a set time: so slow file systems take no longer than fast ones. Rank 0 prints a line a trial.
 * Caches of this machine are passed by (--direct, O_DIRECT), or else each file's pages are dropped before a trial, no byte is touched
 * twice in it, and what was written is synced within its time. It knows nothing of Slicewise. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "slicewise-trials"
#include "common.h"

enum { BINS_A_DOUBLING = 16, BINS = 40 * BINS_A_DOUBLING, MOST_TEXT = 1 << 20, COMPANY_BYTES = 1 << 20 };

struct setting {
    const char *path;
    int64_t block_bytes; /* each rank's file, and its part of the shared file */
    bool is_direct;
    int rank, ranks;
    char *buffer;
    int64_t *order; /* of the transfers of a block */
};

struct trial {
    int number;
    int processes; /* the first ranks */
    int second;    /* the last ranks, which are the second job */
    bool is_reading, is_random, is_shared;
    int64_t size;
    double seconds;
};

struct found {
    int64_t bytes, calls, company_bytes;
    double call_seconds;
    int64_t bins[BINS]; /* calls by duration */
};

static const char usage[] = "usage: slicewise-trials [--direct] BLOCK_BYTES TRIALS PATH\n"
                            "  TRIALS: a file with a line a trial:\n"
                            "  NUMBER PROCESSES SECOND read|write sequential|random own|shared SIZE_BYTES SECONDS\n"
                            "  prints, for each: NUMBER bytes calls seconds seconds-in-calls seconds-of-the-99-%-quantile bytes-of-second\n";

static int bin_of(double seconds)
{
    double ns = seconds * 1e9;
    if (ns < 1)
        return 0;
    int doublings;
    double rest = frexp(ns, &doublings); /* ns = rest * 2^doublings, rest from 0.5 on */
    int bin = (doublings - 1) * BINS_A_DOUBLING + (int)((rest * 2 - 1) * BINS_A_DOUBLING);
    return bin < BINS ? bin : BINS - 1;
}

/* The upper edge of the bin that 99 % of the calls do not exceed. */
static double slow_call(const struct found *found)
{
    int64_t seen = 0;
    for (int bin = 0; bin < BINS; bin++) {
        seen += found->bins[bin];
        if (seen * 100 >= found->calls * 99)
            return ldexp(1 + (bin % BINS_A_DOUBLING + 1) / (double)BINS_A_DOUBLING, bin / BINS_A_DOUBLING) * 1e-9;
    }
    return 0;
}

static int open_file(const struct setting *setting, bool is_shared, int flags)
{
    char path[4096];
    int length = is_shared ? snprintf(path, sizeof path, "%s.shared", setting->path)
                           : snprintf(path, sizeof path, "%s.%d", setting->path, setting->rank);
    if (length >= (int)sizeof path)
        fail(2, "the path is too long");
    int fd = open(path, flags | (setting->is_direct ? O_DIRECT : 0), 0600);
    if (fd < 0)
        fail(1, "open %s: %s", path, strerror(errno));
    return fd;
}

static void transfer(const struct setting *setting, int fd, bool is_reading, int64_t size, int64_t offset)
{
    ssize_t moved = is_reading ? pread(fd, setting->buffer, (size_t)size, offset) : pwrite(fd, setting->buffer, (size_t)size, offset);
    if (moved != (ssize_t)size)
        fail(1, "%s %" PRId64 " bytes at %" PRId64 " of a file of %s: %s", is_reading ? "read" : "write", size, offset, setting->path,
             moved < 0 ? strerror(errno) : "less was moved");
}

static void sync_file(const struct setting *setting, int fd)
{
    if (fsync(fd) != 0)
        fail(1, "fsync a file of %s: %s", setting->path, strerror(errno));
}

/* What trials read has to be there. */
static void prepare(const struct setting *setting, int64_t step)
{
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        int fd = open_file(setting, is_shared, O_WRONLY | O_CREAT);
        int64_t begin = is_shared ? setting->rank * setting->block_bytes : 0;
        for (int64_t at = 0; at < setting->block_bytes; at += step)
            transfer(setting, fd, false, step, begin + at);
        sync_file(setting, fd);
        close(fd);
    }
}

static void put_in_order(const struct setting *setting, const struct trial *trial, int64_t count)
{
    uint64_t state = (uint64_t)trial->number * 0x9E3779B97F4A7C15u + (uint64_t)setting->rank;
    for (int64_t i = 0; i < count; i++)
        setting->order[i] = i;
    for (int64_t i = count - 1; trial->is_random && i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t other = (int64_t)((state >> 33) % (uint64_t)(i + 1));
        int64_t kept = setting->order[i];
        setting->order[i] = setting->order[other];
        setting->order[other] = kept;
    }
}

/* One rank's part of a trial, until its time is over. */
static double move(const struct setting *setting, const struct trial *trial, struct found *found)
{
    int64_t count = setting->block_bytes / trial->size;
    int64_t begin = trial->is_shared ? setting->rank * setting->block_bytes : 0;
    put_in_order(setting, trial, count);
    int fd = open_file(setting, trial->is_shared, trial->is_reading ? O_RDONLY : O_WRONLY);
    if (!setting->is_direct)
        posix_fadvise(fd, begin, setting->block_bytes, POSIX_FADV_DONTNEED);
    meet(MPI_COMM_WORLD);
    double start = now(), end = start;
    for (int64_t i = 0; end - start < trial->seconds && (setting->is_direct || i < count); i++) {
        double began = end;
        transfer(setting, fd, trial->is_reading, trial->size, begin + setting->order[i % count] * trial->size);
        end = now();
        found->bytes += trial->size;
        found->calls++;
        found->call_seconds += end - began;
        found->bins[bin_of(end - began)]++;
    }
    if (!trial->is_reading && !setting->is_direct)
        sync_file(setting, fd);
    double seconds = now() - start;
    close(fd);
    return seconds;
}

static void keep_company(const struct setting *setting, struct trial trial, struct found *found)
{
    struct found own = { 0 };
    trial.is_random = trial.is_shared = false;
    trial.size = setting->block_bytes < COMPANY_BYTES ? setting->block_bytes : COMPANY_BYTES;
    move(setting, &trial, &own);
    found->company_bytes = own.bytes;
}

static void do_trial(const struct setting *setting, const struct trial *trial)
{
    struct found own = { 0 }, all = { 0 };
    double seconds = 0, most_seconds;
    if (setting->rank < trial->processes)
        seconds = move(setting, trial, &own);
    else if (setting->rank >= setting->ranks - trial->second)
        keep_company(setting, *trial, &own);
    else
        meet(MPI_COMM_WORLD);
    meet(MPI_COMM_WORLD);
    MPI_Reduce(&own.bytes, &all.bytes, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own.calls, &all.calls, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own.company_bytes, &all.company_bytes, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own.call_seconds, &all.call_seconds, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(own.bins, all.bins, BINS, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&seconds, &most_seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (setting->rank != 0)
        return;
    printf("%d %" PRId64 " %" PRId64 " %.9f %.9f %.9f %" PRId64 "\n", trial->number, all.bytes, all.calls, most_seconds, all.call_seconds,
           slow_call(&all), all.company_bytes);
    fflush(stdout);
}

/* The file of trials, for who may not see it: rank 0 reads it. */
static char *read_text(const char *path, int rank)
{
    char *text = calloc(1, MOST_TEXT);
    if (text == NULL)
        fail(1, "no memory");
    if (rank == 0) {
        FILE *file = fopen(path, "re");
        if (file == NULL || fread(text, 1, MOST_TEXT - 1, file) == 0)
            fail(1, "%s: %s", path, file == NULL ? strerror(errno) : "is empty");
        fclose(file);
    }
    MPI_Bcast(text, MOST_TEXT, MPI_CHAR, 0, MPI_COMM_WORLD);
    return text;
}

static struct trial parsed(const char *line, const struct setting *setting)
{
    struct trial trial;
    char direction[16], access[16], sharing[16];
    if (sscanf(line, "%d %d %d %15s %15s %15s %" SCNd64 " %lf", &trial.number, &trial.processes, &trial.second, direction, access, sharing,
               &trial.size, &trial.seconds) != 8)
        refuse("'%s' is no trial\n%s", line, usage);
    trial.is_reading = strcmp(direction, "read") == 0;
    trial.is_random = strcmp(access, "random") == 0;
    trial.is_shared = strcmp(sharing, "shared") == 0;
    if (trial.processes < 1 || trial.second < 0 || trial.processes + trial.second > setting->ranks || trial.size < 1 ||
        trial.size > setting->block_bytes)
        refuse("'%s' does not fit %d processes with %" PRId64 " bytes each", line, setting->ranks, setting->block_bytes);
    return trial;
}

static void remove_files(const struct setting *setting)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", setting->path, setting->rank);
    unlink(path);
    snprintf(path, sizeof path, "%s.shared", setting->path);
    if (setting->rank == 0)
        unlink(path);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    struct setting setting = { .is_direct = argc > 1 && strcmp(argv[1], "--direct") == 0 };
    MPI_Comm_rank(MPI_COMM_WORLD, &setting.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &setting.ranks);
    char **given = argv + 1 + setting.is_direct;
    if (argc - setting.is_direct != 4)
        refuse("wrong arguments\n%s", usage);
    setting.block_bytes = bytes_of(given[0]);
    setting.path = given[2];
    setting.buffer = aligned_alloc(4096, ((size_t)setting.block_bytes + 4095) / 4096 * 4096);
    setting.order = calloc((size_t)setting.block_bytes / 512 + 1, sizeof *setting.order);
    if (setting.buffer == NULL || setting.order == NULL)
        fail(1, "no memory for %" PRId64 " bytes", setting.block_bytes);
    memset(setting.buffer, 'A' + setting.rank % 26, (size_t)setting.block_bytes);
    char *text = read_text(given[1], setting.rank);
    prepare(&setting, setting.block_bytes % COMPANY_BYTES == 0 ? COMPANY_BYTES : setting.block_bytes);
    meet(MPI_COMM_WORLD);
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        struct trial trial = parsed(line, &setting);
        do_trial(&setting, &trial);
    }
    meet(MPI_COMM_WORLD);
    remove_files(&setting);
    free(text);
    free(setting.order);
    free(setting.buffer);
    MPI_Finalize();
    return 0;
}
