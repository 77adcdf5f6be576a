/* Kinds of calls, many times each.
 *     calls time KIND CHUNKS THREADS DIR   prints ns a call: the median over chunks of calls, so that who was preempted does not count;
 *                                          the mean of it over the threads
 *     calls wall KIND CHUNKS THREADS DIR   prints ns a call of each thread, by the clock from when all begin to when all are through
 *     calls count KIND CHUNKS 1 DIR        under callgrind: each chunk's instructions are dumped as `Client Request: KIND CALLS`
 * KIND may be `all`. Threads have files of their own, but for `shared`. */
#include "../../interface/slicewise/region.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { BLOCK_BYTES = 4096, BLOCKS = 64, ITEM_BYTES = 64, NUMBER_BYTES = 8, LINE_BYTES = 40, LINES = 4096, CALLS_A_CHUNK = 256 };

struct work {
    const struct kind *kind;
    const char *path, *directory, *other, *missing;
    long *new_files; /* made so far */
    int chunks, fd, null, sought, shared_null;
    FILE *sink, *source, *text, *wide_sink, *wide_source;
    double ns, began, ended;
};

struct kind {
    const char *name;
    void (*call)(const struct work *work, long i);
    long before; /* calls of it that come before those which count */
};

static char block[BLOCK_BYTES];
static pthread_barrier_t start;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

static off_t offset_of(long i)
{
    return i % BLOCKS * BLOCK_BYTES;
}

static void call_write(const struct work *work, long i)
{
    (void)i;
    must(write(work->null, block, 1) == 1, "write");
}

static void call_write_to_file(const struct work *work, long i)
{
    (void)i;
    must(write(work->fd, block, 1) == 1, "write");
}

static void call_pwrite(const struct work *work, long i)
{
    must(pwrite(work->fd, block, BLOCK_BYTES, offset_of(i)) == BLOCK_BYTES, "pwrite");
}

static void call_pread(const struct work *work, long i)
{
    must(pread(work->fd, block, BLOCK_BYTES, offset_of(i)) == BLOCK_BYTES, "pread");
}

static void call_lseek(const struct work *work, long i)
{
    must(lseek(work->fd, offset_of(i), SEEK_SET) == offset_of(i), "lseek");
}

/* By a descriptor that nothing was read or written by. */
static void call_lseek_alone(const struct work *work, long i)
{
    must(lseek(work->sought, offset_of(i), SEEK_SET) == offset_of(i), "lseek");
}

static void call_fwrite(const struct work *work, long i)
{
    (void)i;
    must(fwrite(block, ITEM_BYTES, 1, work->sink) == 1, "fwrite");
}

static void call_fread(const struct work *work, long i)
{
    (void)i;
    must(fread(block, ITEM_BYTES, 1, work->source) == 1, "fread");
}

static void call_getc(const struct work *work, long i)
{
    (void)i;
    must(getc(work->source) == 0, "getc");
}

static void call_getc_unlocked(const struct work *work, long i)
{
    (void)i;
    must((getc_unlocked)(work->source) == 0, "getc_unlocked");
}

static void call_putc(const struct work *work, long i)
{
    (void)i;
    must(putc('c', work->sink) == 'c', "putc");
}

/* A call at the file's end comes once in 4,097: the median chunk has none. */
static void call_fgets(const struct work *work, long i)
{
    char line[2 * LINE_BYTES];
    (void)i;
    if (fgets(line, sizeof line, work->text) == NULL)
        rewind(work->text);
}

static void call_getline(const struct work *work, long i)
{
    static char *line;
    static size_t room;
    (void)i;
    if (getline(&line, &room, work->text) < 0)
        rewind(work->text);
}

static void call_fscanf(const struct work *work, long i)
{
    char word[2 * LINE_BYTES];
    (void)i;
    if (fscanf(work->text, "%79s", word) != 1)
        rewind(work->text);
}

static void call_fputs(const struct work *work, long i)
{
    (void)i;
    must(fputs("a line of forty bytes, as of a log file\n", work->sink) >= 0, "fputs");
}

static void call_fgetwc(const struct work *work, long i)
{
    (void)i;
    if (fgetwc(work->wide_source) == WEOF)
        rewind(work->wide_source);
}

static void call_fputwc(const struct work *work, long i)
{
    (void)i;
    must(fputwc(L'c', work->wide_sink) == L'c', "fputwc");
}

static void call_fread_8(const struct work *work, long i)
{
    (void)i;
    must(fread(block, NUMBER_BYTES, 1, work->source) == 1, "fread");
}

static void call_fprintf(const struct work *work, long i)
{
    must(fprintf(work->sink, "%ld %s\n", i, "a word") > 0, "fprintf");
}

static void call_stat(const struct work *work, long i)
{
    struct stat status;
    (void)i;
    must(stat(work->path, &status) == 0, "stat");
}

/* Databases make these two at each commit. The file's lies in memory, where there is nothing to bring to storage. */
static void call_fdatasync(const struct work *work, long i)
{
    (void)i;
    must(fdatasync(work->fd) == 0, "fdatasync");
}

static void call_fcntl(const struct work *work, long i)
{
    struct flock lock = { .l_type = i % 2 == 0 ? F_RDLCK : F_UNLCK, .l_whence = SEEK_SET, .l_len = 1 };
    must(fcntl(work->fd, F_SETLK, &lock) == 0, "fcntl");
}

/* Of a name that is not there, as searches of paths make nearly all of theirs. */
static void call_open_missing(const struct work *work, long i)
{
    (void)i;
    must(open(work->missing, O_RDONLY) < 0, "open");
}

static void call_stat_missing(const struct work *work, long i)
{
    struct stat status;
    (void)i;
    must(stat(work->missing, &status) < 0, "stat");
}

static void call_access(const struct work *work, long i)
{
    (void)i;
    must(access(work->path, R_OK) == 0, "access");
}

static void call_chmod(const struct work *work, long i)
{
    must(chmod(work->path, i % 2 == 0 ? 0600 : 0640) == 0, "chmod");
}

static void call_truncate(const struct work *work, long i)
{
    (void)i;
    must(truncate(work->other, 0) == 0, "truncate");
}

static void call_rename(const struct work *work, long i)
{
    must(rename(i % 2 == 0 ? work->other : work->missing, i % 2 == 0 ? work->missing : work->other) == 0, "rename");
}

/* A link is made, read and removed. */
static void call_symlink(const struct work *work, long i)
{
    char target[16];
    (void)i;
    must(symlink("target", work->missing) == 0 && readlink(work->missing, target, sizeof target) == 6 && unlink(work->missing) == 0, "symlink");
}

static void call_open_and_close(const struct work *work, long i)
{
    (void)i;
    must(close(open(work->path, O_RDONLY)) == 0, "open and close");
}

/* A file that nobody has met before. `apart`: unless it is 0, its name has not been there in earlier runs either. */
static void make_new_file(const struct work *work, int flags, int apart)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.new.%.0d-%ld", work->directory, strrchr(work->path, '.') + 1, apart, ++*work->new_files);
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    must(write(fd, block, 1) == 1 && close(fd) == 0, path);
}

static void call_new_file(const struct work *work, long i)
{
    (void)i;
    make_new_file(work, 0, 0);
}

/* By a program that makes sure of it, as cp, tar and git do. */
static void call_new_file_exclusive(const struct work *work, long i)
{
    (void)i;
    make_new_file(work, O_EXCL, getpid());
}

static void call_shared(const struct work *work, long i)
{
    (void)i;
    must(write(work->shared_null, block, 1) == 1, "write");
}

/* Of the MPI and the HDF5 that stand beside this program (mpi_stand_in.c), or of the library in front of it. */
static struct {
    int (*test)(void *, int *, void *);
    int (*send)(const void *, int, void *, int, int, void *);
    int (*read)(long, long, long, long, long, void *);
} mpi;

static void find_mpi(const char *program)
{
    char path[4096];
    const char *end = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*smpi_stand_in.so", end != NULL ? (int)(end - program + 1) : 0, program);
    must(dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL, path);
    *(void **)&mpi.test = dlsym(RTLD_DEFAULT, "MPI_Test");
    *(void **)&mpi.send = dlsym(RTLD_DEFAULT, "MPI_Send");
    *(void **)&mpi.read = dlsym(RTLD_DEFAULT, "H5Dread");
    must(mpi.test != NULL && mpi.send != NULL && mpi.read != NULL, path);
}

static void call_mpi_test(const struct work *work, long i)
{
    int is_complete;
    (void)work, (void)i;
    must(mpi.test(block, &is_complete, NULL) == 0, "MPI_Test");
}

static void call_mpi_send(const struct work *work, long i)
{
    (void)work, (void)i;
    must(mpi.send(block, 1, block, 0, 0, block) == 0, "MPI_Send");
}

static void call_library(const struct work *work, long i)
{
    (void)work;
    must(mpi.read(i, 2, 3, 4, 5, block) == 0, "H5Dread");
}

/* The usual one of a loop's, after those that have rows of their own. */
static void call_region(const struct work *work, long i)
{
    (void)work, (void)i;
    slicewise_region_end(slicewise_region_begin("batch"));
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void call_lock(const struct work *work, long i)
{
    (void)work, (void)i;
    must(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0, "pthread_mutex_lock");
}

/* Held for about a microsecond: of several threads all but one wait. */
static void call_lock_held(const struct work *work, long i)
{
    (void)work, (void)i;
    must(pthread_mutex_lock(&mutex) == 0, "pthread_mutex_lock");
    for (volatile int turn = 0; turn < 1000; turn++) {
    }
    must(pthread_mutex_unlock(&mutex) == 0, "pthread_mutex_unlock");
}

static const struct kind kinds[] = {
    { "write", call_write },
    { "write_to_file", call_write_to_file },
    { "pwrite", call_pwrite },
    { "pread", call_pread },
    { "lseek", call_lseek },
    { "lseek_alone", call_lseek_alone },
    { "fwrite", call_fwrite },
    { "fread", call_fread },
    { "getc", call_getc },
    { "getc_unlocked", call_getc_unlocked },
    { "putc", call_putc },
    { "fgets", call_fgets },
    { "fread_8", call_fread_8 },
    { "fprintf", call_fprintf },
    { "getline", call_getline },
    { "fputs", call_fputs },
    { "fscanf", call_fscanf },
    { "fgetwc", call_fgetwc },
    { "fputwc", call_fputwc },
    { "fdatasync", call_fdatasync },
    { "fcntl", call_fcntl },
    { "stat", call_stat },
    { "open", call_open_and_close },
    { "open_missing", call_open_missing },
    { "stat_missing", call_stat_missing },
    { "access", call_access },
    { "chmod", call_chmod },
    { "truncate", call_truncate },
    { "rename", call_rename },
    { "symlink", call_symlink },
    { "mpi_test", call_mpi_test },
    { "mpi_send", call_mpi_send },
    { "library_call", call_library },
    { "region", call_region, 1000 },
    { "lock", call_lock },
    { "lock_held", call_lock_held },
    { "new_file", call_new_file, 0 },
    { "new_file_exclusive", call_new_file_exclusive, 0 },
    { "new_file_10", call_new_file, 10 },
    { "new_file_1000", call_new_file, 1000 },
    { "new_file_100000", call_new_file, 100000 },
    { "shared", call_shared },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static FILE *text_of_lines(const char *directory, int number)
{
    char path[4096], line[LINE_BYTES + 1];
    snprintf(path, sizeof path, "%s/calls.text.%d", directory, number);
    memset(line, 'l', LINE_BYTES);
    strcpy(line + LINE_BYTES - 1, "\n");
    FILE *text = fopen(path, "w+");
    must(text != NULL, path);
    for (int i = 0; i < LINES; i++)
        must(fputs(line, text) >= 0, path);
    rewind(text);
    return text;
}

static struct work work_in(const char *directory, int number, int shared_null)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/calls.%d", directory, number);
    struct work work = { .path = strdup(path), .directory = directory, .new_files = calloc(1, sizeof(long)),
                         .fd = open(path, O_RDWR | O_CREAT, 0600), .shared_null = shared_null };
    for (int i = 0; i < BLOCKS; i++)
        must(pwrite(work.fd, block, BLOCK_BYTES, offset_of(i)) == BLOCK_BYTES, path);
    snprintf(path, sizeof path, "%s/calls.%d.other", directory, number);
    work.other = strdup(path);
    must(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0, path);
    snprintf(path, sizeof path, "%s/calls.%d.missing", directory, number);
    work.missing = strdup(path);
    work.null = open("/dev/null", O_WRONLY);
    work.sought = open(work.path, O_RDONLY);
    work.sink = fopen("/dev/null", "w");
    work.source = fopen("/dev/zero", "r");
    must(work.null >= 0 && work.sink != NULL && work.source != NULL, "/dev");
    work.text = text_of_lines(directory, number);
    work.wide_sink = fopen("/dev/null", "w");
    snprintf(path, sizeof path, "%s/calls.text.%d", directory, number);
    work.wide_source = fopen(path, "r");
    must(work.wide_sink != NULL && work.wide_source != NULL, path);
    return work;
}

static int by_size(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

static void call_a_chunk(const struct work *work)
{
    for (long i = 0; i < CALLS_A_CHUNK; i++)
        work->kind->call(work, i);
}

static void *run(void *argument)
{
    struct work *work = argument;
    double *ns = calloc((size_t)work->chunks, sizeof *ns);
    for (long i = 0; i < work->kind->before; i++)
        work->kind->call(work, i);
    pthread_barrier_wait(&start);
    work->began = now_ns();
    for (int chunk = 0; chunk < work->chunks; chunk++) {
        double began = now_ns();
        call_a_chunk(work);
        ns[chunk] = now_ns() - began;
    }
    work->ended = now_ns();
    qsort(ns, (size_t)work->chunks, sizeof *ns, by_size);
    work->ns = ns[work->chunks / 2] / CALLS_A_CHUNK;
    free(ns);
    return NULL;
}

static void time_calls(const struct kind *kind, int chunks, int threads, const char *directory, bool is_by_wall)
{
    struct work *works = calloc((size_t)threads, sizeof *works);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    int shared_null = open("/dev/null", O_WRONLY);
    double ns = 0, began = 0, ended = 0;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        works[t] = work_in(directory, t, shared_null);
        works[t].kind = kind;
        works[t].chunks = chunks;
    }
    for (int t = 1; t < threads; t++)
        must(pthread_create(&ids[t], NULL, run, &works[t]) == 0, "pthread_create");
    run(&works[0]);
    for (int t = 0; t < threads; t++) {
        if (t > 0)
            pthread_join(ids[t], NULL);
        ns += works[t].ns;
        began = t == 0 || works[t].began < began ? works[t].began : began;
        ended = works[t].ended > ended ? works[t].ended : ended;
    }
    printf("%.3f\n", is_by_wall ? (ended - began) / ((double)chunks * CALLS_A_CHUNK) : ns / threads);
}

/* A first chunk warms up and is not dumped. */
static void count_calls(const struct kind *kind, int chunks, const char *directory)
{
    struct work work = work_in(directory, 0, open("/dev/null", O_WRONLY));
    char name[64];
    work.kind = kind;
    snprintf(name, sizeof name, "%s %d", kind->name, CALLS_A_CHUNK);
    for (long i = 0; i < kind->before; i++)
        kind->call(&work, i);
    for (int chunk = -1; chunk < chunks; chunk++) {
        CALLGRIND_ZERO_STATS;
        call_a_chunk(&work);
        if (chunk >= 0)
            CALLGRIND_DUMP_STATS_AT(name);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: calls time|wall|count KIND CHUNKS THREADS DIR\n");
        return 2;
    }
    find_mpi(argv[0]);
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
        if (strcmp(argv[2], kind->name) != 0 && strcmp(argv[2], "all") != 0)
            continue;
        if (argv[1][0] != 'c')
            time_calls(kind, atoi(argv[3]), atoi(argv[4]), argv[5], argv[1][0] == 'w');
        else
            count_calls(kind, atoi(argv[3]), argv[5]);
    }
    return 0;
}
