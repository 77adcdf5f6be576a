/* Calls that complete requests, in Fortran, as in mpi_completion.c. For any thread that may call MPI. */
#include "mpi_fortran.h"
#include "mpi_waiting.h"

#define CLASS_OF_MPI_Wait MPI_CLASS_wait
#define CLASS_OF_MPI_Test MPI_CLASS_test
#define CLASS_OF_MPI_Request_free MPI_CLASS_test

typedef void wait_one_function(fortran_int *request, fortran_int *status, fortran_int *error);

static OUT_OF_LINE void wait_one(enum operation operation, wait_one_function *real, fortran_int *request, fortran_int *status,
                                 fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, 1, request);
    status = mpi_waiting_status(&waiting, status);
    real(request, status, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define WAIT(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *request, fortran_int *status, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(request, status, error)); \
        else \
            wait_one(OP_##operation, MPI_REAL(symbol), request, status, error); \
    }
FORTRAN(WAIT, MPI_Wait, mpi_wait, MPI_WAIT)

typedef void wait_all_function(fortran_int *count, fortran_int *requests, fortran_int *statuses, fortran_int *error);

static OUT_OF_LINE void wait_all(enum operation operation, wait_all_function *real, fortran_int *count, fortran_int *requests,
                                 fortran_int *statuses, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, *count, requests);
    statuses = mpi_waiting_statuses(&waiting, statuses);
    real(count, requests, statuses, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define WAITALL(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *count, fortran_int *requests, fortran_int *statuses, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(count, requests, statuses, error)); \
        else \
            wait_all(OP_##operation, MPI_REAL(symbol), count, requests, statuses, error); \
    }
FORTRAN(WAITALL, MPI_Wait, mpi_waitall, MPI_WAITALL)

typedef void wait_any_function(fortran_int *count, fortran_int *requests, fortran_int *index, fortran_int *status, fortran_int *error);

static OUT_OF_LINE void wait_any(enum operation operation, wait_any_function *real, fortran_int *count, fortran_int *requests,
                                 fortran_int *index, fortran_int *status, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, *count, requests);
    status = mpi_waiting_status(&waiting, status);
    real(count, requests, index, status, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define WAITANY(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *count, fortran_int *requests, fortran_int *index, fortran_int *status, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(count, requests, index, status, error)); \
        else \
            wait_any(OP_##operation, MPI_REAL(symbol), count, requests, index, status, error); \
    }
FORTRAN(WAITANY, MPI_Wait, mpi_waitany, MPI_WAITANY)

typedef void complete_some_function(fortran_int *count, fortran_int *requests, fortran_int *completed, fortran_int *indices,
                                    fortran_int *statuses, fortran_int *error);

static OUT_OF_LINE void complete_some(enum operation operation, complete_some_function *real, fortran_int *count, fortran_int *requests,
                                      fortran_int *completed, fortran_int *indices, fortran_int *statuses, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, *count, requests);
    statuses = mpi_waiting_statuses(&waiting, statuses);
    real(count, requests, completed, indices, statuses, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed_some(&waiting, completed, indices, *error);
    mpi_waiting_close(&waiting);
}

#define SOME(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *count, fortran_int *requests, fortran_int *completed, fortran_int *indices, \
                             fortran_int *statuses, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(count, requests, completed, indices, statuses, error)); \
        else \
            complete_some(OP_##operation, MPI_REAL(symbol), count, requests, completed, indices, statuses, error); \
    }
FORTRAN(SOME, MPI_Wait, mpi_waitsome, MPI_WAITSOME)
FORTRAN(SOME, MPI_Test, mpi_testsome, MPI_TESTSOME)

typedef void test_one_function(fortran_int *request, fortran_int *is_complete, fortran_int *status, fortran_int *error);

static OUT_OF_LINE void test_one(enum operation operation, test_one_function *real, fortran_int *request, fortran_int *is_complete,
                                 fortran_int *status, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, 1, request);
    status = mpi_waiting_status(&waiting, status);
    real(request, is_complete, status, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define TEST(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *request, fortran_int *is_complete, fortran_int *status, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(request, is_complete, status, error)); \
        else \
            test_one(OP_##operation, MPI_REAL(symbol), request, is_complete, status, error); \
    }
FORTRAN(TEST, MPI_Test, mpi_test, MPI_TEST)

typedef void test_all_function(fortran_int *count, fortran_int *requests, fortran_int *is_complete, fortran_int *statuses,
                               fortran_int *error);

static OUT_OF_LINE void test_all(enum operation operation, test_all_function *real, fortran_int *count, fortran_int *requests,
                                 fortran_int *is_complete, fortran_int *statuses, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, *count, requests);
    statuses = mpi_waiting_statuses(&waiting, statuses);
    real(count, requests, is_complete, statuses, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define TESTALL(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *count, fortran_int *requests, fortran_int *is_complete, fortran_int *statuses, \
                             fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(count, requests, is_complete, statuses, error)); \
        else \
            test_all(OP_##operation, MPI_REAL(symbol), count, requests, is_complete, statuses, error); \
    }
FORTRAN(TESTALL, MPI_Test, mpi_testall, MPI_TESTALL)

typedef void test_any_function(fortran_int *count, fortran_int *requests, fortran_int *index, fortran_int *is_complete,
                               fortran_int *status, fortran_int *error);

static OUT_OF_LINE void test_any(enum operation operation, test_any_function *real, fortran_int *count, fortran_int *requests,
                                 fortran_int *index, fortran_int *is_complete, fortran_int *status, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, *count, requests);
    status = mpi_waiting_status(&waiting, status);
    real(count, requests, index, is_complete, status, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define TESTANY(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *count, fortran_int *requests, fortran_int *index, fortran_int *is_complete, \
                             fortran_int *status, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(count, requests, index, is_complete, status, error)); \
        else \
            test_any(OP_##operation, MPI_REAL(symbol), count, requests, index, is_complete, status, error); \
    }
FORTRAN(TESTANY, MPI_Test, mpi_testany, MPI_TESTANY)

typedef void get_status_function(fortran_int *request, fortran_int *is_complete, fortran_int *status, fortran_int *error);

static OUT_OF_LINE void get_status(enum operation operation, get_status_function *real, fortran_int *request, fortran_int *is_complete,
                                   fortran_int *status, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, 1, request);
    status = mpi_waiting_status(&waiting, status);
    real(request, is_complete, status, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed_if(&waiting, *error != 0 || *is_complete != 0, *error);
    mpi_waiting_close(&waiting);
}

#define GET_STATUS(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *request, fortran_int *is_complete, fortran_int *status, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(request, is_complete, status, error)); \
        else \
            get_status(OP_##operation, MPI_REAL(symbol), request, is_complete, status, error); \
    }
FORTRAN(GET_STATUS, MPI_Test, mpi_request_get_status, MPI_REQUEST_GET_STATUS)

typedef void free_request_function(fortran_int *request, fortran_int *error);

static OUT_OF_LINE void free_request(enum operation operation, free_request_function *real, fortran_int *request, fortran_int *error)
{
    fortran_int own_error;
    error = error != NULL ? error : &own_error;
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_fortran, operation, 1, request);
    real(request, error);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, *error);
    mpi_waiting_close(&waiting);
}

#define FREE(operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, (fortran_int *request, fortran_int *error)) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(request, error)); \
        else \
            free_request(OP_##operation, MPI_REAL(symbol), request, error); \
    }
FORTRAN(FREE, MPI_Request_free, mpi_request_free, MPI_REQUEST_FREE)
