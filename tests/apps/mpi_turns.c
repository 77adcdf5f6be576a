/* Collective transfers of every kind, PART bytes a rank each: mpi_turns KIND FILE, where KIND is one of the names below, or `every`. First all
 * are written, then all are read and compared. A wrong answer ends the job with one line and status 1. With -DUNLIKE rank 0 makes calls of at_all
 * that no tool sees. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifndef PART_BYTES
#define PART_BYTES (1 << 18)
#endif
enum { PART = PART_BYTES, KINDS = 8 };

static int rank, ranks;
static char part[PART], found[PART];
static MPI_File file;
static MPI_Request request;

/* A rank's part of a kind lies here; those of all ranks lie together. */
static MPI_Offset place_of(int kind)
{
    return ((MPI_Offset)kind * ranks + rank) * PART;
}

static int at_own_place(int kind)
{
    return MPI_File_seek(file, place_of(kind), MPI_SEEK_SET);
}

static int at_shared_place(int kind)
{
    return MPI_File_seek_shared(file, (MPI_Offset)kind * ranks * PART, MPI_SEEK_SET);
}

static void all(int kind, int writes)
{
    at_own_place(kind);
    writes ? MPI_File_write_all(file, part, PART, MPI_BYTE, MPI_STATUS_IGNORE) : MPI_File_read_all(file, found, PART, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void at_all(int kind, int writes)
{
#ifdef UNLIKE
    if (rank == 0) {
        writes ? PMPI_File_write_at_all(file, place_of(kind), part, PART, MPI_BYTE, MPI_STATUS_IGNORE)
               : PMPI_File_read_at_all(file, place_of(kind), found, PART, MPI_BYTE, MPI_STATUS_IGNORE);
        return;
    }
#endif
    writes ? MPI_File_write_at_all(file, place_of(kind), part, PART, MPI_BYTE, MPI_STATUS_IGNORE)
           : MPI_File_read_at_all(file, place_of(kind), found, PART, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void ordered(int kind, int writes)
{
    at_shared_place(kind);
    writes ? MPI_File_write_ordered(file, part, PART, MPI_BYTE, MPI_STATUS_IGNORE)
           : MPI_File_read_ordered(file, found, PART, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void split_all(int kind, int writes)
{
    at_own_place(kind);
    writes ? MPI_File_write_all_begin(file, part, PART, MPI_BYTE) : MPI_File_read_all_begin(file, found, PART, MPI_BYTE);
    writes ? MPI_File_write_all_end(file, part, MPI_STATUS_IGNORE) : MPI_File_read_all_end(file, found, MPI_STATUS_IGNORE);
}

static void split_at_all(int kind, int writes)
{
    writes ? MPI_File_write_at_all_begin(file, place_of(kind), part, PART, MPI_BYTE)
           : MPI_File_read_at_all_begin(file, place_of(kind), found, PART, MPI_BYTE);
    writes ? MPI_File_write_at_all_end(file, part, MPI_STATUS_IGNORE) : MPI_File_read_at_all_end(file, found, MPI_STATUS_IGNORE);
}

static void split_ordered(int kind, int writes)
{
    at_shared_place(kind);
    writes ? MPI_File_write_ordered_begin(file, part, PART, MPI_BYTE) : MPI_File_read_ordered_begin(file, found, PART, MPI_BYTE);
    writes ? MPI_File_write_ordered_end(file, part, MPI_STATUS_IGNORE) : MPI_File_read_ordered_end(file, found, MPI_STATUS_IGNORE);
}

static void request_all(int kind, int writes)
{
    at_own_place(kind);
    writes ? MPI_File_iwrite_all(file, part, PART, MPI_BYTE, &request) : MPI_File_iread_all(file, found, PART, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void request_at_all(int kind, int writes)
{
    MPI_Status statuses[1];
    writes ? MPI_File_iwrite_at_all(file, place_of(kind), part, PART, MPI_BYTE, &request)
           : MPI_File_iread_at_all(file, place_of(kind), found, PART, MPI_BYTE, &request);
    MPI_Waitall(1, &request, statuses);
}

static const struct {
    const char *name;
    void (*move)(int kind, int writes);
} kinds[KINDS] = {
    { "all", all },
    { "at_all", at_all },
    { "ordered", ordered },
    { "split_all", split_all },
    { "split_at_all", split_at_all },
    { "split_ordered", split_ordered },
    { "request_all", request_all },
    { "request_at_all", request_at_all },
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int writes = 1; writes >= 0; writes--) {
        for (int kind = 0; kind < KINDS; kind++)
            if (strcmp(argv[1], "every") == 0 || strcmp(argv[1], kinds[kind].name) == 0) {
                memset(part, 16 * kind + rank, PART);
                kinds[kind].move(kind, writes);
                if (!writes && memcmp(part, found, PART) != 0) {
                    fprintf(stderr, "mpi_turns: rank %d: %s: read something else than was written\n", rank, kinds[kind].name);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            }
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
