/* MPI-IO in C that goes on while the program does: requests, and split collectives. Each transfer is counted once, when it completes
 * (mpi_completion.c, and `_end` here). For any thread that may call MPI. */
#include "mpi_c.h"
#include "mpi_pending.h"

typedef int begin_function(mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *request);

static int begin(enum operation operation, begin_function *real, mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype,
                 void *request)
{
    struct mpi_call call = mpi_call_begin(operation);
    int error = real(file, buffer, count, datatype, request);
    mpi_call_end(&call);
    mpi_call_began(&call, file, error == 0 ? mpi_library_request(request, 0) : 0, count, datatype, error);
    mpi_call_close(&call);
    return error;
}

#define BEGIN(operation, name, width) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *request)) \
    { \
        return begin(OP_##operation, MPI_REAL_FOR_COUNT(name, (width)count), file, buffer, (width)count, datatype, request); \
    }
BOTH_COUNTS(BEGIN, MPI_File_iread)
BOTH_COUNTS(BEGIN, MPI_File_iread_all)
BOTH_COUNTS(BEGIN, MPI_File_iread_shared)
BOTH_COUNTS(BEGIN, MPI_File_iwrite)
BOTH_COUNTS(BEGIN, MPI_File_iwrite_all)
BOTH_COUNTS(BEGIN, MPI_File_iwrite_shared)

typedef int begin_at_function(mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *request);

static int begin_at(enum operation operation, begin_at_function *real, mpi_handle file, mpi_offset offset, void *buffer, mpi_count count,
                    mpi_handle datatype, void *request)
{
    struct mpi_call call = mpi_call_begin(operation);
    int error = real(file, offset, buffer, count, datatype, request);
    mpi_call_end(&call);
    mpi_call_began(&call, file, error == 0 ? mpi_library_request(request, 0) : 0, count, datatype, error);
    mpi_call_close(&call);
    return error;
}

#define BEGIN_AT(operation, name, width) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *request)) \
    { \
        return begin_at(OP_##operation, MPI_REAL_FOR_COUNT(name, (width)count), file, offset, buffer, \
                        (width)count, datatype, request); \
    }
BOTH_COUNTS(BEGIN_AT, MPI_File_iread_at)
BOTH_COUNTS(BEGIN_AT, MPI_File_iread_at_all)
BOTH_COUNTS(BEGIN_AT, MPI_File_iwrite_at)
BOTH_COUNTS(BEGIN_AT, MPI_File_iwrite_at_all)

typedef int begin_split_function(mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype);

static int begin_split(enum operation operation, begin_split_function *real, mpi_handle file, void *buffer, mpi_count count,
                       mpi_handle datatype)
{
    struct mpi_call call = mpi_call_begin(operation);
    int error = real(file, buffer, count, datatype);
    mpi_call_end(&call);
    mpi_call_began(&call, file, mpi_pending_key_of_file(file), count, datatype, error);
    mpi_call_close(&call);
    return error;
}

#define BEGIN_SPLIT(operation, name, width) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype)) \
    { \
        return begin_split(OP_##operation, MPI_REAL_FOR_COUNT(name, (width)count), file, buffer, (width)count, datatype); \
    }
BOTH_COUNTS(BEGIN_SPLIT, MPI_File_read_all_begin)
BOTH_COUNTS(BEGIN_SPLIT, MPI_File_read_ordered_begin)
BOTH_COUNTS(BEGIN_SPLIT, MPI_File_write_all_begin)
BOTH_COUNTS(BEGIN_SPLIT, MPI_File_write_ordered_begin)

typedef int begin_split_at_function(mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype);

static int begin_split_at(enum operation operation, begin_split_at_function *real, mpi_handle file, mpi_offset offset, void *buffer,
                          mpi_count count, mpi_handle datatype)
{
    struct mpi_call call = mpi_call_begin(operation);
    int error = real(file, offset, buffer, count, datatype);
    mpi_call_end(&call);
    mpi_call_began(&call, file, mpi_pending_key_of_file(file), count, datatype, error);
    mpi_call_close(&call);
    return error;
}

#define BEGIN_SPLIT_AT(operation, name, width) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype)) \
    { \
        return begin_split_at(OP_##operation, MPI_REAL_FOR_COUNT(name, (width)count), file, offset, buffer, \
                              (width)count, datatype); \
    }
BOTH_COUNTS(BEGIN_SPLIT_AT, MPI_File_read_at_all_begin)
BOTH_COUNTS(BEGIN_SPLIT_AT, MPI_File_write_at_all_begin)

typedef int end_split_function(mpi_handle file, void *buffer, void *status);

static int end_split(enum operation begun, end_split_function *real, mpi_handle file, void *buffer, void *status)
{
    struct mpi_call call = mpi_call_begin(begun);
    union mpi_status own = { 0 };
    status = status_for(&call, status, &own);
    int error = real(file, buffer, status);
    mpi_call_end(&call);
    mpi_call_completed_split(&call, file, status, error);
    mpi_call_close(&call);
    return error;
}

#define END_SPLIT(begun, name) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, void *buffer, void *status)) \
    { \
        return end_split(OP_##begun, MPI_REAL(name), file, buffer, status); \
    }
END_SPLIT(MPI_File_read_all_begin, MPI_File_read_all_end)
END_SPLIT(MPI_File_read_at_all_begin, MPI_File_read_at_all_end)
END_SPLIT(MPI_File_read_ordered_begin, MPI_File_read_ordered_end)
END_SPLIT(MPI_File_write_all_begin, MPI_File_write_all_end)
END_SPLIT(MPI_File_write_at_all_begin, MPI_File_write_at_all_end)
END_SPLIT(MPI_File_write_ordered_begin, MPI_File_write_ordered_end)
