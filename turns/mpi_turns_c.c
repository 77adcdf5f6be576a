/* Gates of taking turns in front of MPI's functions in C (mpi_turns.h). Functions that count in an int are called with more in the register, as
 * their wrappers call them. */
#include "mpi_turns.h"

#include <string.h>

static int (*next_MPI_File_open)(mpi_handle communicator, const char *name, int mode, mpi_handle info, mpi_handle *file);
static int (*next_MPI_File_close)(mpi_handle *file);

static int gate_MPI_File_open(mpi_handle communicator, const char *name, int mode, mpi_handle info, mpi_handle *file)
{
    bool is_outermost = mpi_turns_is_outermost();
    int error = next_MPI_File_open(communicator, name, mode, info, file);
    if (error == 0 && is_outermost)
        mpi_turns_opened(communicator, *file);
    return error;
}

static int gate_MPI_File_close(mpi_handle *file)
{
    mpi_handle closed = file != NULL ? *file : NULL;
    unsigned place = mpi_turns_closing(closed);
    int error = next_MPI_File_close(file);
    mpi_turns_closed(place, closed);
    return error;
}

/* BEGIN begins a turn before the call, and END ends it after the call, as mpi_turns.h has it. */
#define TURN(name, shape, BEGIN, END) \
    static int (*next_##name) shape##_PARAMETERS; \
    static int gate_##name shape##_PARAMETERS \
    { \
        if (!mpi_turns_is_outermost()) \
            return next_##name shape##_ARGUMENTS; \
        struct mpi_turn turn = (BEGIN); \
        int error = next_##name shape##_ARGUMENTS; \
        (END); \
        return error; \
    }
#define transfer_PARAMETERS (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *result)
#define transfer_ARGUMENTS (file, buffer, count, datatype, result)
#define TRANSFER(name, ...) TURN(name, transfer, __VA_ARGS__)
#define transfer_at_PARAMETERS (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *result)
#define transfer_at_ARGUMENTS (file, offset, buffer, count, datatype, result)
#define TRANSFER_AT(name, ...) TURN(name, transfer_at, __VA_ARGS__)
#define BEGUN(name, shape) \
    static int (*next_##name) shape##_PARAMETERS; \
    static int gate_##name shape##_PARAMETERS \
    { \
        if (mpi_turns_is_outermost()) \
            mpi_turns_begin_split(file, count, datatype); \
        return next_##name shape##_ARGUMENTS; \
    }
#define split_PARAMETERS (mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype)
#define split_ARGUMENTS (file, buffer, count, datatype)
#define SPLIT(name) BEGUN(name, split)
#define split_at_PARAMETERS (mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype)
#define split_at_ARGUMENTS (file, offset, buffer, count, datatype)
#define SPLIT_AT(name) BEGUN(name, split_at)
#define SPLIT_END(name) \
    static int (*next_##name)(mpi_handle file, void *buffer, void *status); \
    static int gate_##name(mpi_handle file, void *buffer, void *status) \
    { \
        bool is_outermost = mpi_turns_is_outermost(); \
        int error = next_##name(file, buffer, status); \
        if (is_outermost) \
            mpi_turns_end_split(file); \
        return error; \
    }

#define COLLECTIVE mpi_turns_begin(file, count, datatype), mpi_turns_end(&turn)
#define ALONE mpi_turns_begin_alone(), mpi_turns_end_alone(&turn)
#define STARTED mpi_turns_start(file, count, datatype), \
                mpi_turns_started(&turn, error == 0 ? profiler->mpi_request(result, 0) : 0)
#define GATE_OF(TRANSFER, name, ...) TRANSFER(name, __VA_ARGS__)
#define COLLECTIVE_GATE(name) GATE_OF(TRANSFER, name, COLLECTIVE)
#define COLLECTIVE_AT_GATE(name) GATE_OF(TRANSFER_AT, name, COLLECTIVE)
#define ALONE_GATE(name) GATE_OF(TRANSFER, name, ALONE)
#define ALONE_AT_GATE(name) GATE_OF(TRANSFER_AT, name, ALONE)
#define STARTED_GATE(name) GATE_OF(TRANSFER, name, STARTED)
#define STARTED_AT_GATE(name) GATE_OF(TRANSFER_AT, name, STARTED)

/* A call that completes requests: the one, or those of an array. The arguments behind them are words. */
#define WAIT(name, shape, count, requests) \
    static int (*next_##name) shape##_PARAMETERS; \
    static int gate_##name shape##_PARAMETERS \
    { \
        struct mpi_turns_look look; \
        if (!mpi_turns_any_started()) \
            return next_##name shape##_ARGUMENTS; \
        mpi_turns_look(&look, count, requests, profiler->mpi_request); \
        int error = next_##name shape##_ARGUMENTS; \
        mpi_turns_looked(&look, requests, profiler->mpi_request); \
        return error; \
    }
#define wait_one_PARAMETERS (void *request, uintptr_t second, uintptr_t third)
#define wait_one_ARGUMENTS (request, second, third)
#define WAIT_ONE(name) WAIT(name, wait_one, 1, request)
#define wait_array_PARAMETERS (int count, void *requests, uintptr_t third, uintptr_t fourth, uintptr_t fifth)
#define wait_array_ARGUMENTS (count, requests, third, fourth, fifth)
#define WAIT_ARRAY(name) WAIT(name, wait_array, count, requests)

#define BOTH(GATE, name) GATE(name) GATE(name##_c)
#define GATES(WHOLE, WHOLE_AT, OWN_PART, OWN_PART_AT, START, START_AT, BEGIN, BEGIN_AT, FINISH, ONE, ARRAY) \
    BOTH(WHOLE, MPI_File_read_all) BOTH(WHOLE, MPI_File_write_all) \
    BOTH(WHOLE, MPI_File_read_ordered) BOTH(WHOLE, MPI_File_write_ordered) \
    BOTH(WHOLE_AT, MPI_File_read_at_all) BOTH(WHOLE_AT, MPI_File_write_at_all) \
    BOTH(OWN_PART, MPI_File_read) BOTH(OWN_PART, MPI_File_write) \
    BOTH(OWN_PART, MPI_File_read_shared) BOTH(OWN_PART, MPI_File_write_shared) \
    BOTH(OWN_PART_AT, MPI_File_read_at) BOTH(OWN_PART_AT, MPI_File_write_at) \
    BOTH(START, MPI_File_iread_all) BOTH(START, MPI_File_iwrite_all) \
    BOTH(START_AT, MPI_File_iread_at_all) BOTH(START_AT, MPI_File_iwrite_at_all) \
    BOTH(BEGIN, MPI_File_read_all_begin) BOTH(BEGIN, MPI_File_write_all_begin) \
    BOTH(BEGIN, MPI_File_read_ordered_begin) BOTH(BEGIN, MPI_File_write_ordered_begin) \
    BOTH(BEGIN_AT, MPI_File_read_at_all_begin) BOTH(BEGIN_AT, MPI_File_write_at_all_begin) \
    FINISH(MPI_File_read_all_end) FINISH(MPI_File_write_all_end) \
    FINISH(MPI_File_read_ordered_end) FINISH(MPI_File_write_ordered_end) \
    FINISH(MPI_File_read_at_all_end) FINISH(MPI_File_write_at_all_end) \
    ONE(MPI_Wait) ONE(MPI_Test) ONE(MPI_Request_free) \
    ARRAY(MPI_Waitall) ARRAY(MPI_Waitany) ARRAY(MPI_Waitsome) ARRAY(MPI_Testall) ARRAY(MPI_Testany) ARRAY(MPI_Testsome)
GATES(COLLECTIVE_GATE, COLLECTIVE_AT_GATE, ALONE_GATE, ALONE_AT_GATE, STARTED_GATE, STARTED_AT_GATE, SPLIT, SPLIT_AT, SPLIT_END, WAIT_ONE,
      WAIT_ARRAY)

void *mpi_turns_gate_in_c(const char *function, void *found)
{
#define ROW MPI_TURNS_GATE
    ROW(MPI_File_open)
    ROW(MPI_File_close)
    GATES(ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW, ROW)
    return NULL;
}
