/* MPI-IO in Fortran: every argument is an address, strings are padded with blanks and their lengths come last (a size_t in gfortran; where
 * it is an int the rest of the word is not looked at), and the error code is an argument, which mpi_f08 may leave out. For any thread that
 * may call MPI. */
#include "mpi_call.h"
#include "mpi_files.h"
#include "mpi_fortran.h"

#include <limits.h>
#include <string.h>

/* A Fortran string as C has it, in `text`; blanks around it are not part of it. */
static void copy_name(char text[PATH_MAX], const char *name, size_t length)
{
    length = (uint32_t)length;
    while (length > 0 && name[length - 1] == ' ')
        length--;
    while (length > 0 && *name == ' ') {
        name++;
        length--;
    }
    length = length < PATH_MAX ? length : PATH_MAX - 1;
    memcpy(text, name, length);
    text[length] = '\0';
}

typedef void open_function(fortran_int *communicator, char *name, fortran_int *mode, fortran_int *info, fortran_int *file,
                           fortran_int *error, size_t name_length);

static void open_file(open_function *real, fortran_int *communicator, char *name, fortran_int *mode, fortran_int *info,
                      fortran_int *file, fortran_int *error, size_t name_length)
{
    char name_in_c[PATH_MAX];
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(OP_MPI_File_open);
    real(communicator, name, mode, info, file, error, name_length);
    mpi_call_end(&call);
    copy_name(name_in_c, name, name_length);
    mpi_call_opened(&call, name_in_c, file_of(&call, file), *error);
    mpi_call_close(&call);
}

#define OPEN(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *communicator, char *name, fortran_int *mode, fortran_int *info, fortran_int *file, \
                             fortran_int *error, size_t name_length)) \
    { \
        open_file(MPI_REAL(symbol), communicator, name, mode, info, file, error, name_length); \
    }
FORTRAN(OPEN, MPI_File_open, mpi_file_open, MPI_FILE_OPEN)

typedef void delete_function(char *name, fortran_int *info, fortran_int *error, size_t name_length);

static void delete_file(delete_function *real, char *name, fortran_int *info, fortran_int *error, size_t name_length)
{
    char name_in_c[PATH_MAX];
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(OP_MPI_File_delete);
    real(name, info, error, name_length);
    mpi_call_end(&call);
    copy_name(name_in_c, name, name_length);
    mpi_call_named(&call, name_in_c, *error);
    mpi_call_close(&call);
}

#define DELETE(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (char *name, fortran_int *info, fortran_int *error, size_t name_length)) \
    { \
        delete_file(MPI_REAL(symbol), name, info, error, name_length); \
    }
FORTRAN(DELETE, MPI_File_delete, mpi_file_delete, MPI_FILE_DELETE)

typedef void file_function(fortran_int *file, fortran_int *error);

static void close_file(file_function *real, fortran_int *file, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(OP_MPI_File_close);
    uint32_t mount = mpi_files_leave(file_of(&call, file));
    real(file, error);
    mpi_call_end(&call);
    mpi_call_closed(&call, mount, *error);
    mpi_call_close(&call);
}

#define CLOSE(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, fortran_int *error)) \
    { \
        close_file(MPI_REAL(symbol), file, error); \
    }
FORTRAN(CLOSE, MPI_File_close, mpi_file_close, MPI_FILE_CLOSE)

static void sync_file(file_function *real, fortran_int *file, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(OP_MPI_File_sync);
    real(file, error);
    mpi_call_end(&call);
    mpi_call_touched(&call, file_of(&call, file), *error);
    mpi_call_close(&call);
}

#define SYNC(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, fortran_int *error)) \
    { \
        sync_file(MPI_REAL(symbol), file, error); \
    }
FORTRAN(SYNC, MPI_File_sync, mpi_file_sync, MPI_FILE_SYNC)

typedef void view_function(fortran_int *file, mpi_offset *displacement, fortran_int *etype, fortran_int *filetype,
                           char *representation, fortran_int *info, fortran_int *error, size_t representation_length);

static void set_view(view_function *real, fortran_int *file, mpi_offset *displacement, fortran_int *etype, fortran_int *filetype,
                     char *representation, fortran_int *info, fortran_int *error, size_t representation_length)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(OP_MPI_File_set_view);
    real(file, displacement, etype, filetype, representation, info, error, representation_length);
    mpi_call_end(&call);
    mpi_call_touched(&call, file_of(&call, file), *error);
    mpi_call_close(&call);
}

#define SET_VIEW(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, mpi_offset *displacement, fortran_int *etype, fortran_int *filetype, \
                             char *representation, fortran_int *info, fortran_int *error, size_t representation_length)) \
    { \
        set_view(MPI_REAL(symbol), file, displacement, etype, filetype, representation, info, error, representation_length); \
    }
FORTRAN(SET_VIEW, MPI_File_set_view, mpi_file_set_view, MPI_FILE_SET_VIEW)

typedef void attribute_function(fortran_int *file, void *value, fortran_int *error);

static void attribute(enum operation operation, attribute_function *real, fortran_int *file, void *value, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    real(file, value, error);
    mpi_call_end(&call);
    mpi_call_touched(&call, file_of(&call, file), *error);
    mpi_call_close(&call);
}

#define ATTRIBUTE(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, void *value, fortran_int *error)) \
    { \
        attribute(OP_##operation, MPI_REAL(symbol), file, value, error); \
    }
FORTRAN(ATTRIBUTE, MPI_File_get_size, mpi_file_get_size, MPI_FILE_GET_SIZE)
FORTRAN(ATTRIBUTE, MPI_File_get_position_shared, mpi_file_get_position_shared, MPI_FILE_GET_POSITION_SHARED)
FORTRAN(ATTRIBUTE, MPI_File_set_size, mpi_file_set_size, MPI_FILE_SET_SIZE)
FORTRAN(ATTRIBUTE, MPI_File_preallocate, mpi_file_preallocate, MPI_FILE_PREALLOCATE)
FORTRAN(ATTRIBUTE, MPI_File_set_info, mpi_file_set_info, MPI_FILE_SET_INFO)
FORTRAN(ATTRIBUTE, MPI_File_set_atomicity, mpi_file_set_atomicity, MPI_FILE_SET_ATOMICITY)

typedef void seek_function(fortran_int *file, mpi_offset *offset, fortran_int *whence, fortran_int *error);

static void seek(enum operation operation, seek_function *real, fortran_int *file, mpi_offset *offset, fortran_int *whence,
                 fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    real(file, offset, whence, error);
    mpi_call_end(&call);
    mpi_call_touched(&call, file_of(&call, file), *error);
    mpi_call_close(&call);
}

#define SEEK(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, mpi_offset *offset, fortran_int *whence, fortran_int *error)) \
    { \
        seek(OP_##operation, MPI_REAL(symbol), file, offset, whence, error); \
    }
FORTRAN(SEEK, MPI_File_seek, mpi_file_seek, MPI_FILE_SEEK)
FORTRAN(SEEK, MPI_File_seek_shared, mpi_file_seek_shared, MPI_FILE_SEEK_SHARED)

static void count_transfer(const struct mpi_call *call, const fortran_int *file, int count, fortran_int datatype, const fortran_int *status,
                           int error)
{
    if (!call->is_counted)
        return;
    union mpi_status in_c;
    mpi_call_moved(call, mpi_library_file(*file), count, mpi_library_datatype(datatype), status_in_c(call, status, &in_c), error);
}

typedef void transfer_function(fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *status,
                               fortran_int *error);

static void transfer(enum operation operation, transfer_function *real, fortran_int *file, void *buffer, fortran_int *count,
                     fortran_int *datatype, fortran_int *status, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    union mpi_status own = { 0 };
    status = status_for(&call, status, &own);
    real(file, buffer, count, datatype, status, error);
    mpi_call_end(&call);
    count_transfer(&call, file, *count, *datatype, status, *error);
    mpi_call_close(&call);
}

#define TRANSFER(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *status, \
                             fortran_int *error)) \
    { \
        transfer(OP_##operation, MPI_REAL(symbol), file, buffer, count, datatype, status, error); \
    }
FORTRAN(TRANSFER, MPI_File_read, mpi_file_read, MPI_FILE_READ)
FORTRAN(TRANSFER, MPI_File_read_all, mpi_file_read_all, MPI_FILE_READ_ALL)
FORTRAN(TRANSFER, MPI_File_read_shared, mpi_file_read_shared, MPI_FILE_READ_SHARED)
FORTRAN(TRANSFER, MPI_File_read_ordered, mpi_file_read_ordered, MPI_FILE_READ_ORDERED)
FORTRAN(TRANSFER, MPI_File_write, mpi_file_write, MPI_FILE_WRITE)
FORTRAN(TRANSFER, MPI_File_write_all, mpi_file_write_all, MPI_FILE_WRITE_ALL)
FORTRAN(TRANSFER, MPI_File_write_shared, mpi_file_write_shared, MPI_FILE_WRITE_SHARED)
FORTRAN(TRANSFER, MPI_File_write_ordered, mpi_file_write_ordered, MPI_FILE_WRITE_ORDERED)

typedef void transfer_at_function(fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype,
                                  fortran_int *status, fortran_int *error);

static void transfer_at(enum operation operation, transfer_at_function *real, fortran_int *file, mpi_offset *offset, void *buffer,
                        fortran_int *count, fortran_int *datatype, fortran_int *status, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_call call = mpi_call_begin(operation);
    union mpi_status own = { 0 };
    status = status_for(&call, status, &own);
    real(file, offset, buffer, count, datatype, status, error);
    mpi_call_end(&call);
    count_transfer(&call, file, *count, *datatype, status, *error);
    mpi_call_close(&call);
}

#define TRANSFER_AT(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, \
                             fortran_int *status, fortran_int *error)) \
    { \
        transfer_at(OP_##operation, MPI_REAL(symbol), file, offset, buffer, count, datatype, status, error); \
    }
FORTRAN(TRANSFER_AT, MPI_File_read_at, mpi_file_read_at, MPI_FILE_READ_AT)
FORTRAN(TRANSFER_AT, MPI_File_read_at_all, mpi_file_read_at_all, MPI_FILE_READ_AT_ALL)
FORTRAN(TRANSFER_AT, MPI_File_write_at, mpi_file_write_at, MPI_FILE_WRITE_AT)
FORTRAN(TRANSFER_AT, MPI_File_write_at_all, mpi_file_write_at_all, MPI_FILE_WRITE_AT_ALL)
