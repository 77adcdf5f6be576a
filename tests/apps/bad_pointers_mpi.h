/* Good arguments for MPI's functions, for a process that is alone. What MPI does of a bad pointer is its own business (most crash); what we do
 * must make no difference. */
#ifndef BAD_POINTERS_MPI_H
#define BAD_POINTERS_MPI_H

#include <mpi.h>

static MPI_File mpi_file;
static MPI_Request mpi_requests[2];
static MPI_Status mpi_statuses[2];

static long mpi_file_value(void *address_too, struct value *value)
{
    if (MPI_File_open(MPI_COMM_SELF, "file", MPI_MODE_RDWR, MPI_INFO_NULL, &mpi_file) != MPI_SUCCESS)
        fail("cannot open", "a file");
    return address_too != NULL ? pointer_value(&mpi_file, sizeof mpi_file, 8, value) : number_value((long)(intptr_t)mpi_file, value);
}

/* Begun, so that there is I/O for a wait to look for. */
static long mpi_requests_value(size_t count, struct value *value)
{
    struct value unused;
    mpi_file_value(NULL, &unused);
    for (size_t i = 0; i < 2; i++)
        if (MPI_File_iread_at(mpi_file, 0, room, 8, MPI_BYTE, &mpi_requests[i]) != MPI_SUCCESS)
            fail("cannot begin", "a read");
    return pointer_value(mpi_requests, count * sizeof *mpi_requests, 8, value);
}

/* Others, while I/O is under way: whether that is complete nobody could tell. */
static long mpi_other_requests_value(size_t count, struct value *value)
{
    static MPI_Request others[2];
    mpi_requests_value(count, value);
    others[0] = others[1] = MPI_REQUEST_NULL;
    return pointer_value(others, count * sizeof *others, 8, value);
}

/* clang-format off */
static bool make_mpi_value(const char *kind, int number, struct value *value)
{
    (void)number;
    *value = (struct value){ 0 };
#define KIND(name, made_by) if (strcmp(kind, #name) == 0) return made_by;
    KIND(mpi_comm, number_value((long)(intptr_t)MPI_COMM_SELF, value))
    KIND(mpi_info, number_value((long)(intptr_t)MPI_INFO_NULL, value))
    KIND(mpi_byte, number_value((long)(intptr_t)MPI_BYTE, value))
    KIND(mpi_mode, number_value(MPI_MODE_RDWR, value))
    KIND(mpi_native, text_value("native", value))
    KIND(mpi_file, mpi_file_value(NULL, value))
    KIND(mpi_file_address, mpi_file_value(value, value))
    KIND(mpi_file_room, pointer_value(&mpi_file, sizeof mpi_file, 8, value))
    KIND(mpi_request_null, (mpi_other_requests_value(1, value), number_value((long)(intptr_t)MPI_REQUEST_NULL, value)))
    KIND(mpi_other_address, mpi_other_requests_value(1, value))
    KIND(mpi_others, mpi_other_requests_value(2, value))
    KIND(mpi_request_address, mpi_requests_value(1, value))
    KIND(mpi_requests, mpi_requests_value(2, value))
    KIND(mpi_request_room, pointer_value(mpi_requests, sizeof *mpi_requests, 8, value))
    KIND(mpi_status, pointer_value(mpi_statuses, sizeof *mpi_statuses, 8, value))
    KIND(mpi_statuses, pointer_value(mpi_statuses, sizeof mpi_statuses, 8, value))
#undef KIND
    return false;
}
/* clang-format on */

static void prepare_mpi(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

static void finish(void)
{
    MPI_Finalize();
}

static bool is_own_row(const char *line)
{
    return strncmp(line, "MPI_", 4) == 0;
}

#endif
