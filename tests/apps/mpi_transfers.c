/* MPI-IO in C, with answers that are known beforehand. Each routine is called as often, and with as many elements, as
 * its case says. */
#include "mpi_case.h"

#include <pthread.h>
#include <sys/resource.h>

/* Every blocking routine once; the i-th moves 1000 i + rank elements. Ranks have a region each, what is shared lies behind all regions. */
static void every_routine(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Offset mine = (MPI_Offset)rank * REGION_BYTES, shared = (MPI_Offset)ranks * REGION_BYTES;
    MPI_Status status;
    require(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS, "set_view");

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_write(file, written, 1000 + rank, MPI_INT, &status);
    MPI_File_write_at(file, mine + 100000, written, 2000 + rank, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, mine + 200000, MPI_SEEK_SET);
    MPI_File_write_all(file, written, 3000 + rank, MPI_INT, &status);
    MPI_File_write_at_all(file, mine + 300000, written, 4000 + rank, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, shared, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD); /* Open MPI may return to one rank before another one's seek is done */
    MPI_File_write_shared(file, written, 5000 + rank, MPI_INT, &status);
    MPI_File_write_ordered(file, written, 6000 + rank, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_read(file, found, 1000 + rank, MPI_INT, &status);
    require_count(&status, 1000 + rank);
    require_same(1000 + rank);
    MPI_File_read_at(file, mine + 100000, found, 2000 + rank, MPI_INT, MPI_STATUS_IGNORE);
    require_same(2000 + rank);
    MPI_File_seek(file, mine + 200000, MPI_SEEK_SET);
    MPI_File_read_all(file, found, 3000 + rank, MPI_INT, &status);
    require_same(3000 + rank);
    MPI_File_read_at_all(file, mine + 300000, found, 4000 + rank, MPI_INT, MPI_STATUS_IGNORE);
    require_same(4000 + rank);
    MPI_File_seek_shared(file, shared, MPI_SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_shared(file, found, 5000 + rank, MPI_INT, &status);
    require_count(&status, 5000 + rank);
    MPI_File_read_ordered(file, found, 6000 + rank, MPI_INT, MPI_STATUS_IGNORE);
    require(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL, "close");
}

/* Eight independent and eight collective writes of 64 KiB, each byte of the file once. */
static void whole_file(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    MPI_Offset block = 65536, half = 8 * block * ranks;
    for (int i = 0; i < 8; i++) {
        MPI_Offset at = ((MPI_Offset)i * ranks + rank) * block;
        MPI_File_write_at(file, at, written, (int)block, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_write_at_all(file, half + at, written, (int)block, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

/* A file of 1000 bytes a rank. Of 4000 asked for, the first read finds 500, the second (without a status) 300, the third none. */
static void short_reads(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_Status status;
    int count;
    MPI_File_write(file, written, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 500, found, 4000, MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == 500, "a short read has another count in its status than there were bytes");
    MPI_File_read_at(file, 700, found, 1000, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 1000, found, 4000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* Memory with holes (2 x 10 blocks of 3 of 8 ints: 240 bytes), no elements, elements of no size. */
static void datatypes(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Datatype holes, empty;
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * REGION_BYTES;
    MPI_Type_vector(10, 3, 8, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    MPI_File_write_at(file, mine, written, 2, holes, &status);
    MPI_File_write_at(file, mine, written, 0, holes, &status);
    MPI_File_write_at(file, mine, written, 7, empty, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, mine, found, 2, holes, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, mine, found, 0, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, mine, found, 7, empty, MPI_STATUS_IGNORE);
    MPI_Type_free(&holes);
    MPI_Type_free(&empty);
    MPI_File_close(&file);
}

/* A file that is not there, and writing to one that was opened to be read. */
static void errors(const char *name)
{
    MPI_File missing, file;
    char nowhere[4096];
    snprintf(nowhere, sizeof nowhere, "%s.missing", name);
    require(MPI_File_open(MPI_COMM_WORLD, nowhere, MPI_MODE_RDONLY, MPI_INFO_NULL, &missing) != MPI_SUCCESS, "a missing file was opened");
    file = open_file(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    MPI_File_write_at(file, 0, written, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    file = open_file(MPI_COMM_WORLD, name, MPI_MODE_RDONLY);
    require(MPI_File_write_at(file, 0, written, 10, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS, "a read-only file was written");
    MPI_File_close(&file);
}

/* More files at once than there is room for in any table of moderate size, and then as many again. */
static void many_files(const char *name)
{
    enum { FILES = 1300 };
    static MPI_File files[FILES];
    char own[4096];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < FILES; i++) {
            snprintf(own, sizeof own, "%s.%d.%d", name, rank, i);
            files[i] = open_file(MPI_COMM_SELF, own, MPI_MODE_CREATE | MPI_MODE_WRONLY);
        }
        for (int i = 0; i < FILES; i++) {
            MPI_File_write_at(files[i], 0, written, 10, MPI_INT, MPI_STATUS_IGNORE);
            MPI_File_close(&files[i]);
        }
    }
}

struct writer {
    pthread_t thread;
    char name[4096];
};

/* MPICH 4.0 aborts now and then where two threads open files of one communicator at the same time, with or without us. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void *write_files(void *writer)
{
    for (int round = 0; round < 20; round++) {
        pthread_mutex_lock(&opening);
        MPI_File file = open_file(MPI_COMM_SELF, ((struct writer *)writer)->name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
        pthread_mutex_unlock(&opening);
        for (int i = 0; i < 50; i++)
            MPI_File_write(file, written, 100, MPI_INT, MPI_STATUS_IGNORE);
        pthread_mutex_lock(&opening);
        MPI_File_close(&file);
        pthread_mutex_unlock(&opening);
    }
    return NULL;
}

/* Four threads at once; each opens a file of its own 20 times and writes 50 x 400 bytes each time. */
static void threads(const char *name)
{
    struct writer writers[4];
    for (int i = 0; i < 4; i++) {
        snprintf(writers[i].name, sizeof writers[i].name, "%s.%d.%d", name, rank, i);
        pthread_create(&writers[i].thread, NULL, write_files, &writers[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(writers[i].thread, NULL);
}

/* Counts as wide as a file: MPI 4's functions. A short read among them. */
static void large_counts(const char *name)
{
#if MPI_VERSION >= 4
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Offset mine = (MPI_Offset)rank * REGION_BYTES;
    MPI_Count many = 1000;
    MPI_File_write_at_c(file, mine, written, many, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_at_all_c(file, mine + 4000, written, 2 * many, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_c(file, mine, found, 3 * many, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_read_at_c(file, (MPI_Offset)(ranks - 1) * REGION_BYTES + 11000, found, many, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
#else
    (void)name;
    require(0, "this MPI has no large counts");
#endif
}

static const struct mpi_case cases[] = {
    { "every_routine", every_routine }, { "whole_file", whole_file }, { "short_reads", short_reads },
    { "datatypes", datatypes },         { "errors", errors },         { "many_files", many_files },
    { "large_counts", large_counts },   { "threads", threads },
};

MAIN_OF(cases)
