/* Gates of taking turns in front of MPI's routines in Fortran (mpi_turns.h). The wrappers that call them have seen to it that there is an error code. */
#include "mpi_fortran.h"
#include "mpi_turns.h"

#include <string.h>

#define OPEN(operation, symbol) \
    static void (*next_##symbol)(fortran_int *communicator, char *name, fortran_int *mode, fortran_int *info, fortran_int *file, \
                                 fortran_int *error, size_t name_length); \
    static void gate_##symbol(fortran_int *communicator, char *name, fortran_int *mode, fortran_int *info, fortran_int *file, \
                              fortran_int *error, size_t name_length) \
    { \
        bool is_outermost = mpi_turns_is_outermost(); \
        next_##symbol(communicator, name, mode, info, file, error, name_length); \
        if (*error == 0 && is_outermost) \
            mpi_turns_opened(profiler->mpi_communicator(*communicator), profiler->mpi_file(*file)); \
    }
#define CLOSE(operation, symbol) \
    static void (*next_##symbol)(fortran_int *file, fortran_int *error); \
    static void gate_##symbol(fortran_int *file, fortran_int *error) \
    { \
        mpi_handle closed = profiler->mpi_file(*file); \
        unsigned place = mpi_turns_closing(closed); \
        next_##symbol(file, error); \
        mpi_turns_closed(place, closed); \
    }

/* BEGIN begins a turn before the call, and END ends it after the call, as mpi_turns.h has it. */
#define TURN(symbol, shape, BEGIN, END) \
    static void(*next_##symbol) shape##_PARAMETERS; \
    static void gate_##symbol shape##_PARAMETERS \
    { \
        if (!mpi_turns_is_outermost()) { \
            next_##symbol shape##_ARGUMENTS; \
            return; \
        } \
        struct mpi_turn turn = (BEGIN); \
        next_##symbol shape##_ARGUMENTS; \
        (END); \
    }
#define transfer_PARAMETERS (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *result, fortran_int *error)
#define transfer_ARGUMENTS (file, buffer, count, datatype, result, error)
#define TRANSFER(symbol, ...) TURN(symbol, transfer, __VA_ARGS__)
#define transfer_at_PARAMETERS \
    (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *result, \
     fortran_int *error)
#define transfer_at_ARGUMENTS (file, offset, buffer, count, datatype, result, error)
#define TRANSFER_AT(symbol, ...) TURN(symbol, transfer_at, __VA_ARGS__)
#define BEGUN(symbol, shape) \
    static void(*next_##symbol) shape##_PARAMETERS; \
    static void gate_##symbol shape##_PARAMETERS \
    { \
        if (mpi_turns_is_outermost()) \
            mpi_turns_begin_split(profiler->mpi_file(*file), *count, profiler->mpi_datatype(*datatype)); \
        next_##symbol shape##_ARGUMENTS; \
    }
#define split_PARAMETERS (fortran_int *file, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *error)
#define split_ARGUMENTS (file, buffer, count, datatype, error)
#define SPLIT(operation, symbol) BEGUN(symbol, split)
#define split_at_PARAMETERS (fortran_int *file, mpi_offset *offset, void *buffer, fortran_int *count, fortran_int *datatype, fortran_int *error)
#define split_at_ARGUMENTS (file, offset, buffer, count, datatype, error)
#define SPLIT_AT(operation, symbol) BEGUN(symbol, split_at)
#define SPLIT_END(operation, symbol) \
    static void (*next_##symbol)(fortran_int *file, void *buffer, fortran_int *status, fortran_int *error); \
    static void gate_##symbol(fortran_int *file, void *buffer, fortran_int *status, fortran_int *error) \
    { \
        bool is_outermost = mpi_turns_is_outermost(); \
        next_##symbol(file, buffer, status, error); \
        if (is_outermost) \
            mpi_turns_end_split(profiler->mpi_file(*file)); \
    }

#define IN_C profiler->mpi_file(*file), *count, profiler->mpi_datatype(*datatype)
#define COLLECTIVE mpi_turns_begin(IN_C), mpi_turns_end(&turn)
#define ALONE mpi_turns_begin_alone(), mpi_turns_end_alone(&turn)
#define STARTED mpi_turns_start(IN_C), \
                mpi_turns_started(&turn, *error == 0 ? profiler->mpi_request_in_fortran(result, 0) : 0)
#define GATE_OF(TRANSFER, symbol, ...) TRANSFER(symbol, __VA_ARGS__)
#define COLLECTIVE_GATE(operation, symbol) GATE_OF(TRANSFER, symbol, COLLECTIVE)
#define COLLECTIVE_AT_GATE(operation, symbol) GATE_OF(TRANSFER_AT, symbol, COLLECTIVE)
#define ALONE_GATE(operation, symbol) GATE_OF(TRANSFER, symbol, ALONE)
#define ALONE_AT_GATE(operation, symbol) GATE_OF(TRANSFER_AT, symbol, ALONE)
#define STARTED_GATE(operation, symbol) GATE_OF(TRANSFER, symbol, STARTED)
#define STARTED_AT_GATE(operation, symbol) GATE_OF(TRANSFER_AT, symbol, STARTED)

/* A call that completes requests: the one, or those of an array. The arguments behind them are words. */
#define WAIT(symbol, shape, count, requests) \
    static void(*next_##symbol) shape##_PARAMETERS; \
    static void gate_##symbol shape##_PARAMETERS \
    { \
        struct mpi_turns_look look; \
        if (!mpi_turns_any_started()) { \
            next_##symbol shape##_ARGUMENTS; \
            return; \
        } \
        mpi_turns_look(&look, count, requests, profiler->mpi_request_in_fortran); \
        next_##symbol shape##_ARGUMENTS; \
        mpi_turns_looked(&look, requests, profiler->mpi_request_in_fortran); \
    }
#define wait_one_PARAMETERS (fortran_int *request, uintptr_t second, uintptr_t third, uintptr_t fourth)
#define wait_one_ARGUMENTS (request, second, third, fourth)
#define WAIT_ONE(operation, symbol) WAIT(symbol, wait_one, 1, request)
#define wait_array_PARAMETERS (fortran_int *count, fortran_int *requests, uintptr_t third, uintptr_t fourth, uintptr_t fifth, uintptr_t sixth)
#define wait_array_ARGUMENTS (count, requests, third, fourth, fifth, sixth)
#define WAIT_ARRAY(operation, symbol) WAIT(symbol, wait_array, *count, requests)

#define GATES(OPENING, CLOSING, WHOLE, WHOLE_AT, OWN_PART, OWN_PART_AT, START, START_AT, BEGIN, BEGIN_AT, FINISH, ONE, ARRAY) \
    FORTRAN(OPENING, , mpi_file_open, MPI_FILE_OPEN) \
    FORTRAN(CLOSING, , mpi_file_close, MPI_FILE_CLOSE) \
    FORTRAN(WHOLE, , mpi_file_read_all, MPI_FILE_READ_ALL) \
    FORTRAN(WHOLE, , mpi_file_write_all, MPI_FILE_WRITE_ALL) \
    FORTRAN(WHOLE, , mpi_file_read_ordered, MPI_FILE_READ_ORDERED) \
    FORTRAN(WHOLE, , mpi_file_write_ordered, MPI_FILE_WRITE_ORDERED) \
    FORTRAN(WHOLE_AT, , mpi_file_read_at_all, MPI_FILE_READ_AT_ALL) \
    FORTRAN(WHOLE_AT, , mpi_file_write_at_all, MPI_FILE_WRITE_AT_ALL) \
    FORTRAN(OWN_PART, , mpi_file_read, MPI_FILE_READ) \
    FORTRAN(OWN_PART, , mpi_file_write, MPI_FILE_WRITE) \
    FORTRAN(OWN_PART, , mpi_file_read_shared, MPI_FILE_READ_SHARED) \
    FORTRAN(OWN_PART, , mpi_file_write_shared, MPI_FILE_WRITE_SHARED) \
    FORTRAN(OWN_PART_AT, , mpi_file_read_at, MPI_FILE_READ_AT) \
    FORTRAN(OWN_PART_AT, , mpi_file_write_at, MPI_FILE_WRITE_AT) \
    FORTRAN(START, , mpi_file_iread_all, MPI_FILE_IREAD_ALL) \
    FORTRAN(START, , mpi_file_iwrite_all, MPI_FILE_IWRITE_ALL) \
    FORTRAN(START_AT, , mpi_file_iread_at_all, MPI_FILE_IREAD_AT_ALL) \
    FORTRAN(START_AT, , mpi_file_iwrite_at_all, MPI_FILE_IWRITE_AT_ALL) \
    FORTRAN(BEGIN, , mpi_file_read_all_begin, MPI_FILE_READ_ALL_BEGIN) \
    FORTRAN(BEGIN, , mpi_file_write_all_begin, MPI_FILE_WRITE_ALL_BEGIN) \
    FORTRAN(BEGIN, , mpi_file_read_ordered_begin, MPI_FILE_READ_ORDERED_BEGIN) \
    FORTRAN(BEGIN, , mpi_file_write_ordered_begin, MPI_FILE_WRITE_ORDERED_BEGIN) \
    FORTRAN(BEGIN_AT, , mpi_file_read_at_all_begin, MPI_FILE_READ_AT_ALL_BEGIN) \
    FORTRAN(BEGIN_AT, , mpi_file_write_at_all_begin, MPI_FILE_WRITE_AT_ALL_BEGIN) \
    FORTRAN(FINISH, , mpi_file_read_all_end, MPI_FILE_READ_ALL_END) \
    FORTRAN(FINISH, , mpi_file_write_all_end, MPI_FILE_WRITE_ALL_END) \
    FORTRAN(FINISH, , mpi_file_read_ordered_end, MPI_FILE_READ_ORDERED_END) \
    FORTRAN(FINISH, , mpi_file_write_ordered_end, MPI_FILE_WRITE_ORDERED_END) \
    FORTRAN(FINISH, , mpi_file_read_at_all_end, MPI_FILE_READ_AT_ALL_END) \
    FORTRAN(FINISH, , mpi_file_write_at_all_end, MPI_FILE_WRITE_AT_ALL_END) \
    FORTRAN(ONE, , mpi_wait, MPI_WAIT) \
    FORTRAN(ONE, , mpi_test, MPI_TEST) \
    FORTRAN(ONE, , mpi_request_free, MPI_REQUEST_FREE) \
    FORTRAN(ARRAY, , mpi_waitall, MPI_WAITALL) \
    FORTRAN(ARRAY, , mpi_waitany, MPI_WAITANY) \
    FORTRAN(ARRAY, , mpi_waitsome, MPI_WAITSOME) \
    FORTRAN(ARRAY, , mpi_testall, MPI_TESTALL) \
    FORTRAN(ARRAY, , mpi_testany, MPI_TESTANY) \
    FORTRAN(ARRAY, , mpi_testsome, MPI_TESTSOME)
GATES(OPEN, CLOSE, COLLECTIVE_GATE, COLLECTIVE_AT_GATE, ALONE_GATE, ALONE_AT_GATE, STARTED_GATE, STARTED_AT_GATE, SPLIT, SPLIT_AT, SPLIT_END,
      WAIT_ONE, WAIT_ARRAY)

void *mpi_turns_gate_in_fortran(const char *function, void *found)
{
#define ROW(operation, symbol) MPI_TURNS_GATE(symbol)
    GATES(ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW)
    return NULL;
}
