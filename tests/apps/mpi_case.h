/* What programs of MPI-IO with known answers share: PROGRAM CASE[,CASE...] FILE runs cases of the program, each with a file of
 * its own where they are several. What is read back is compared; a wrong answer of MPI ends the job with one line and status 1. */
#ifndef MPI_CASE_H
#define MPI_CASE_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { REGION_BYTES = 1 << 20, MOST_ELEMENTS = REGION_BYTES / (int)sizeof(int), TO_READ_AND_WRITE = MPI_MODE_CREATE | MPI_MODE_RDWR };

static int rank, ranks;
static int written[MOST_ELEMENTS], found[MOST_ELEMENTS];

static void require(int is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_File open_file(MPI_Comm communicator, const char *name, int mode)
{
    MPI_File file;
    require(MPI_File_open(communicator, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, name);
    return file;
}

static MPI_File open_own_file(const char *name)
{
    char own[4096];
    snprintf(own, sizeof own, "%s.%d", name, rank);
    return open_file(MPI_COMM_SELF, own, TO_READ_AND_WRITE);
}

static void require_count(const MPI_Status *status, int expected)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    require(count == expected, "a status has another count than was asked for");
}

static void require_same(int elements)
{
    require(memcmp(written, found, (size_t)elements * sizeof(int)) == 0, "other data was read than was written");
    memset(found, 0, sizeof found);
}

struct mpi_case { const char *name; void (*run)(const char *file); };

static int run_case(int argc, char **argv, const struct mpi_case *cases, size_t count)
{
    int provided;
    char file[4096];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require(argc == 3, "usage: PROGRAM CASE FILE");
    for (int i = 0; i < MOST_ELEMENTS; i++)
        written[i] = i * 7 + 1;
    int is_one = strchr(argv[1], ',') == NULL;
    for (const char *name = strtok(argv[1], ","); name != NULL; name = strtok(NULL, ",")) {
        size_t i = 0;
        while (i < count && strcmp(name, cases[i].name) != 0)
            i++;
        require(i < count, "no such case");
        snprintf(file, sizeof file, is_one ? "%s" : "%s.%s", argv[2], name);
        cases[i].run(file);
    }
    MPI_Finalize();
    return 0;
}

#define MAIN_OF(cases) \
    int main(int argc, char **argv) { return run_case(argc, argv, cases, sizeof cases / sizeof *cases); }

#endif
