/* MPI-IO in Fortran that goes on while the program does: requests, and split collectives, as in mpi_nonblocking.c. For any thread that may
 * call MPI. */
#include "mpi_fortran.h"
#include "mpi_pending.h"

static void count_request(const struct mpi_call *call, const fortran_int *file, int count, fortran_int datatype, const fortran_int *request,
                          int error)
{
    if (call->is_counted)
        mpi_call_began(call, mpi_library_file(*file), error == 0 ? mpi_library_request_in_fortran(request, 0) : 0, count,
                       mpi_library_datatype(datatype), error);
}

static void count_split(const struct mpi_call *call, const fortran_int *file, int count, fortran_int datatype, int error)
{
    mpi_handle in_c = file_of(call, file);
    if (call->is_counted)
        mpi_call_began(call, in_c, mpi_pending_key_of_file(in_c), count, mpi_library_datatype(datatype), error);
}

typedef void begin_function(fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *request,
                            fortran_int *error);

static void begin(enum operation operation, begin_function *real, fortran_int *file, void *buffer, fortran_int *count,
                  fortran_int *datatype, fortran_int *request, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    real(file, buffer, count, datatype, request, error);
    mpi_call_end(&call);
    count_request(&call, file, *count, *datatype, request, *error);
    mpi_call_close(&call);
}

#define BEGIN(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *request, \
                             fortran_int *error)) \
    { \
        begin(OP_##operation, MPI_REAL(symbol), file, buffer, count, datatype, request, error); \
    }
FORTRAN(BEGIN, MPI_File_iread, mpi_file_iread, MPI_FILE_IREAD)
FORTRAN(BEGIN, MPI_File_iread_all, mpi_file_iread_all, MPI_FILE_IREAD_ALL)
FORTRAN(BEGIN, MPI_File_iread_shared, mpi_file_iread_shared, MPI_FILE_IREAD_SHARED)
FORTRAN(BEGIN, MPI_File_iwrite, mpi_file_iwrite, MPI_FILE_IWRITE)
FORTRAN(BEGIN, MPI_File_iwrite_all, mpi_file_iwrite_all, MPI_FILE_IWRITE_ALL)
FORTRAN(BEGIN, MPI_File_iwrite_shared, mpi_file_iwrite_shared, MPI_FILE_IWRITE_SHARED)

typedef void begin_at_function(fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype,
                               fortran_int *request, fortran_int *error);

static void begin_at(enum operation operation, begin_at_function *real, fortran_int *file, mpi_offset *offset, void *buffer,
                     fortran_int *count, fortran_int *datatype, fortran_int *request, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    real(file, offset, buffer, count, datatype, request, error);
    mpi_call_end(&call);
    count_request(&call, file, *count, *datatype, request, *error);
    mpi_call_close(&call);
}

#define BEGIN_AT(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, \
                             fortran_int *request, fortran_int *error)) \
    { \
        begin_at(OP_##operation, MPI_REAL(symbol), file, offset, buffer, count, datatype, request, error); \
    }
FORTRAN(BEGIN_AT, MPI_File_iread_at, mpi_file_iread_at, MPI_FILE_IREAD_AT)
FORTRAN(BEGIN_AT, MPI_File_iread_at_all, mpi_file_iread_at_all, MPI_FILE_IREAD_AT_ALL)
FORTRAN(BEGIN_AT, MPI_File_iwrite_at, mpi_file_iwrite_at, MPI_FILE_IWRITE_AT)
FORTRAN(BEGIN_AT, MPI_File_iwrite_at_all, mpi_file_iwrite_at_all, MPI_FILE_IWRITE_AT_ALL)

typedef void begin_split_function(fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *error);

static void begin_split(enum operation operation, begin_split_function *real, fortran_int *file, void *buffer, fortran_int *count,
                        fortran_int *datatype, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    real(file, buffer, count, datatype, error);
    mpi_call_end(&call);
    count_split(&call, file, *count, *datatype, *error);
    mpi_call_close(&call);
}

#define BEGIN_SPLIT(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *error)) \
    { \
        begin_split(OP_##operation, MPI_REAL(symbol), file, buffer, count, datatype, error); \
    }
FORTRAN(BEGIN_SPLIT, MPI_File_read_all_begin, mpi_file_read_all_begin, MPI_FILE_READ_ALL_BEGIN)
FORTRAN(BEGIN_SPLIT, MPI_File_read_ordered_begin, mpi_file_read_ordered_begin, MPI_FILE_READ_ORDERED_BEGIN)
FORTRAN(BEGIN_SPLIT, MPI_File_write_all_begin, mpi_file_write_all_begin, MPI_FILE_WRITE_ALL_BEGIN)
FORTRAN(BEGIN_SPLIT, MPI_File_write_ordered_begin, mpi_file_write_ordered_begin, MPI_FILE_WRITE_ORDERED_BEGIN)

typedef void begin_split_at_function(fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype,
                                     fortran_int *error);

static void begin_split_at(enum operation operation, begin_split_at_function *real, fortran_int *file, mpi_offset *offset, void *buffer,
                           fortran_int *count, fortran_int *datatype, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    real(file, offset, buffer, count, datatype, error);
    mpi_call_end(&call);
    count_split(&call, file, *count, *datatype, *error);
    mpi_call_close(&call);
}

#define BEGIN_SPLIT_AT(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, \
                             fortran_int *error)) \
    { \
        begin_split_at(OP_##operation, MPI_REAL(symbol), file, offset, buffer, count, datatype, error); \
    }
FORTRAN(BEGIN_SPLIT_AT, MPI_File_read_at_all_begin, mpi_file_read_at_all_begin, MPI_FILE_READ_AT_ALL_BEGIN)
FORTRAN(BEGIN_SPLIT_AT, MPI_File_write_at_all_begin, mpi_file_write_at_all_begin, MPI_FILE_WRITE_AT_ALL_BEGIN)

typedef void end_split_function(fortran_int *file, void *buffer, fortran_int *status, fortran_int *error);

static void end_split(enum operation operation, end_split_function *real, fortran_int *file, void *buffer, fortran_int *status,
                      fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    union mpi_status own = { 0 }, in_c;
    status = status_for(&call, status, &own);
    real(file, buffer, status, error);
    mpi_call_end(&call);
    mpi_call_completed_split(&call, file_of(&call, file), status_in_c(&call, status, &in_c), *error);
    mpi_call_close(&call);
}

#define END_SPLIT(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, void *buffer, fortran_int *status, fortran_int *error)) \
    { \
        end_split(OP_##operation, MPI_REAL(symbol), file, buffer, status, error); \
    }
FORTRAN(END_SPLIT, MPI_File_read_all_begin, mpi_file_read_all_end, MPI_FILE_READ_ALL_END)
FORTRAN(END_SPLIT, MPI_File_read_at_all_begin, mpi_file_read_at_all_end, MPI_FILE_READ_AT_ALL_END)
FORTRAN(END_SPLIT, MPI_File_read_ordered_begin, mpi_file_read_ordered_end, MPI_FILE_READ_ORDERED_END)
FORTRAN(END_SPLIT, MPI_File_write_all_begin, mpi_file_write_all_end, MPI_FILE_WRITE_ALL_END)
FORTRAN(END_SPLIT, MPI_File_write_at_all_begin, mpi_file_write_at_all_end, MPI_FILE_WRITE_AT_ALL_END)
FORTRAN(END_SPLIT, MPI_File_write_ordered_begin, mpi_file_write_ordered_end, MPI_FILE_WRITE_ORDERED_END)
