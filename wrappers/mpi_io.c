/* MPI-IO in C: opening, closing, attributes, positions, and every blocking read and write. For any thread that may call MPI. */
#include "mpi_c.h"
#include "mpi_files.h"

INTERPOSE_LIBRARY(int, MPI_File_open, (mpi_handle communicator, const char *name, int mode, mpi_handle info, mpi_handle *file))
{
    struct mpi_call call = mpi_call_begin(OP_MPI_File_open);
    int error = MPI_REAL(MPI_File_open)(communicator, name, mode, info, file);
    mpi_call_end(&call);
    mpi_call_opened(&call, name, error == 0 ? *file : NULL, error);
    mpi_call_close(&call);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_File_close, (mpi_handle *file))
{
    struct mpi_call call = mpi_call_begin(OP_MPI_File_close);
    uint32_t mount = mpi_files_leave(file != NULL ? *file : NULL); /* some refuse what has no address */
    int error = MPI_REAL(MPI_File_close)(file);
    mpi_call_end(&call);
    mpi_call_closed(&call, mount, error);
    mpi_call_close(&call);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_File_sync, (mpi_handle file))
{
    struct mpi_call call = mpi_call_begin(OP_MPI_File_sync);
    int error = MPI_REAL(MPI_File_sync)(file);
    mpi_call_end(&call);
    mpi_call_touched(&call, file, error);
    mpi_call_close(&call);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_File_set_view,
          (mpi_handle file, mpi_offset displacement, mpi_handle etype, mpi_handle filetype, const char *representation, mpi_handle info))
{
    struct mpi_call call = mpi_call_begin(OP_MPI_File_set_view);
    int error = MPI_REAL(MPI_File_set_view)(file, displacement, etype, filetype, representation, info);
    mpi_call_end(&call);
    mpi_call_touched(&call, file, error);
    mpi_call_close(&call);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_File_delete, (const char *name, mpi_handle info))
{
    struct mpi_call call = mpi_call_begin(OP_MPI_File_delete);
    int error = MPI_REAL(MPI_File_delete)(name, info);
    mpi_call_end(&call);
    mpi_call_named(&call, name, error);
    mpi_call_close(&call);
    return error;
}

/* What is set is an offset, an int or a handle, what is got has an address: one word in any case. */
typedef int attribute_function(mpi_handle file, uintptr_t value);

static int attribute(enum operation operation, attribute_function *real, mpi_handle file, uintptr_t value)
{
    struct mpi_call call = mpi_call_begin(operation);
    int error = real(file, value);
    mpi_call_end(&call);
    mpi_call_touched(&call, file, error);
    mpi_call_close(&call);
    return error;
}

#define ATTRIBUTE(name) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, uintptr_t value)) \
    { \
        return attribute(OP_##name, MPI_REAL(name), file, value); \
    }
ATTRIBUTE(MPI_File_get_size)
ATTRIBUTE(MPI_File_get_position_shared)
ATTRIBUTE(MPI_File_set_size)
ATTRIBUTE(MPI_File_preallocate)
ATTRIBUTE(MPI_File_set_info)
ATTRIBUTE(MPI_File_set_atomicity)

typedef int seek_function(mpi_handle file, mpi_offset offset, int whence);

static int seek(enum operation operation, seek_function *real, mpi_handle file, mpi_offset offset, int whence)
{
    struct mpi_call call = mpi_call_begin(operation);
    int error = real(file, offset, whence);
    mpi_call_end(&call);
    mpi_call_touched(&call, file, error);
    mpi_call_close(&call);
    return error;
}

#define SEEK(name) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, mpi_offset offset, int whence)) \
    { \
        return seek(OP_##name, MPI_REAL(name), file, offset, whence); \
    }
SEEK(MPI_File_seek)
SEEK(MPI_File_seek_shared)

typedef int transfer_function(mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *status);

static int transfer(enum operation operation, transfer_function *real, mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype,
                    void *status)
{
    struct mpi_call call = mpi_call_begin(operation);
    union mpi_status own = { 0 };
    status = status_for(&call, status, &own);
    int error = real(file, buffer, count, datatype, status);
    mpi_call_end(&call);
    mpi_call_moved(&call, file, count, datatype, status, error);
    mpi_call_close(&call);
    return error;
}

#define TRANSFER(operation, name, width) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *status)) \
    { \
        return transfer(OP_##operation, MPI_REAL_FOR_COUNT(name, (width)count), file, buffer, (width)count, datatype, status); \
    }
BOTH_COUNTS(TRANSFER, MPI_File_read)
BOTH_COUNTS(TRANSFER, MPI_File_read_all)
BOTH_COUNTS(TRANSFER, MPI_File_read_shared)
BOTH_COUNTS(TRANSFER, MPI_File_read_ordered)
BOTH_COUNTS(TRANSFER, MPI_File_write)
BOTH_COUNTS(TRANSFER, MPI_File_write_all)
BOTH_COUNTS(TRANSFER, MPI_File_write_shared)
BOTH_COUNTS(TRANSFER, MPI_File_write_ordered)

typedef int transfer_at_function(mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *status);

static int transfer_at(enum operation operation, transfer_at_function *real, mpi_handle file, mpi_offset offset, void *buffer,
                       mpi_count count, mpi_handle datatype, void *status)
{
    struct mpi_call call = mpi_call_begin(operation);
    union mpi_status own = { 0 };
    status = status_for(&call, status, &own);
    int error = real(file, offset, buffer, count, datatype, status);
    mpi_call_end(&call);
    mpi_call_moved(&call, file, count, datatype, status, error);
    mpi_call_close(&call);
    return error;
}

#define TRANSFER_AT(operation, name, width) \
    INTERPOSE_LIBRARY(int, name, (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *status)) \
    { \
        return transfer_at(OP_##operation, MPI_REAL_FOR_COUNT(name, (width)count), file, offset, buffer, \
                           (width)count, datatype, status); \
    }
BOTH_COUNTS(TRANSFER_AT, MPI_File_read_at)
BOTH_COUNTS(TRANSFER_AT, MPI_File_read_at_all)
BOTH_COUNTS(TRANSFER_AT, MPI_File_write_at)
BOTH_COUNTS(TRANSFER_AT, MPI_File_write_at_all)
