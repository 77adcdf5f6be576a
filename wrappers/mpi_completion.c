/* Calls that complete requests, in C. They belong to communication, which is why each begins with an `if` that counts it as such while no I/O is
 * under way. For any thread that may call MPI. */
#include "mpi_waiting.h"

typedef int wait_one_function(void *request, void *status);

static OUT_OF_LINE int wait_one(wait_one_function *real, void *request, void *status)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Wait, 1, request);
    status = mpi_waiting_status(&waiting, status);
    int error = real(request, status);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Wait, (void *request, void *status))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Wait))
        return COMMUNICATED(MPI_CLASS_wait, real_MPI_Wait(request, status));
    return wait_one(MPI_REAL(MPI_Wait), request, status);
}

typedef int wait_all_function(int count, void *requests, void *statuses);

static OUT_OF_LINE int wait_all(wait_all_function *real, int count, void *requests, void *statuses)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Wait, count, requests);
    statuses = mpi_waiting_statuses(&waiting, statuses);
    int error = real(count, requests, statuses);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Waitall, (int count, void *requests, void *statuses))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Waitall))
        return COMMUNICATED(MPI_CLASS_wait, real_MPI_Waitall(count, requests, statuses));
    return wait_all(MPI_REAL(MPI_Waitall), count, requests, statuses);
}

typedef int wait_any_function(int count, void *requests, int *index, void *status);

static OUT_OF_LINE int wait_any(wait_any_function *real, int count, void *requests, int *index, void *status)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Wait, count, requests);
    status = mpi_waiting_status(&waiting, status);
    int error = real(count, requests, index, status);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Waitany, (int count, void *requests, int *index, void *status))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Waitany))
        return COMMUNICATED(MPI_CLASS_wait, real_MPI_Waitany(count, requests, index, status));
    return wait_any(MPI_REAL(MPI_Waitany), count, requests, index, status);
}

typedef int complete_some_function(int count, void *requests, int *completed, int *indices, void *statuses);

static OUT_OF_LINE int complete_some(enum operation operation, complete_some_function *real, int count, void *requests, int *completed,
                                     int *indices, void *statuses)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, operation, count, requests);
    statuses = mpi_waiting_statuses(&waiting, statuses);
    int error = real(count, requests, completed, indices, statuses);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed_some(&waiting, completed, indices, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Waitsome, (int count, void *requests, int *completed, int *indices, void *statuses))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Waitsome))
        return COMMUNICATED(MPI_CLASS_wait, real_MPI_Waitsome(count, requests, completed, indices, statuses));
    return complete_some(OP_MPI_Wait, MPI_REAL(MPI_Waitsome), count, requests, completed, indices, statuses);
}

INTERPOSE_LIBRARY(int, MPI_Testsome, (int count, void *requests, int *completed, int *indices, void *statuses))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Testsome))
        return COMMUNICATED(MPI_CLASS_test, real_MPI_Testsome(count, requests, completed, indices, statuses));
    return complete_some(OP_MPI_Test, MPI_REAL(MPI_Testsome), count, requests, completed, indices, statuses);
}

typedef int test_one_function(void *request, int *is_complete, void *status);

static OUT_OF_LINE int test_one(test_one_function *real, void *request, int *is_complete, void *status)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Test, 1, request);
    status = mpi_waiting_status(&waiting, status);
    int error = real(request, is_complete, status);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Test, (void *request, int *is_complete, void *status))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Test))
        return COMMUNICATED(MPI_CLASS_test, real_MPI_Test(request, is_complete, status));
    return test_one(MPI_REAL(MPI_Test), request, is_complete, status);
}

typedef int test_all_function(int count, void *requests, int *is_complete, void *statuses);

static OUT_OF_LINE int test_all(test_all_function *real, int count, void *requests, int *is_complete, void *statuses)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Test, count, requests);
    statuses = mpi_waiting_statuses(&waiting, statuses);
    int error = real(count, requests, is_complete, statuses);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Testall, (int count, void *requests, int *is_complete, void *statuses))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Testall))
        return COMMUNICATED(MPI_CLASS_test, real_MPI_Testall(count, requests, is_complete, statuses));
    return test_all(MPI_REAL(MPI_Testall), count, requests, is_complete, statuses);
}

typedef int test_any_function(int count, void *requests, int *index, int *is_complete, void *status);

static OUT_OF_LINE int test_any(test_any_function *real, int count, void *requests, int *index, int *is_complete, void *status)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Test, count, requests);
    status = mpi_waiting_status(&waiting, status);
    int error = real(count, requests, index, is_complete, status);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Testany, (int count, void *requests, int *index, int *is_complete, void *status))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Testany))
        return COMMUNICATED(MPI_CLASS_test, real_MPI_Testany(count, requests, index, is_complete, status));
    return test_any(MPI_REAL(MPI_Testany), count, requests, index, is_complete, status);
}

typedef int get_status_function(mpi_handle request, int *is_complete, void *status);

static OUT_OF_LINE int get_status(get_status_function *real, mpi_handle request, int *is_complete, void *status)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Test, 1, &request);
    status = mpi_waiting_status(&waiting, status);
    int error = real(request, is_complete, status);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed_if(&waiting, error != 0 || *is_complete, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Request_get_status, (mpi_handle request, int *is_complete, void *status))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Request_get_status))
        return COMMUNICATED(MPI_CLASS_test, real_MPI_Request_get_status(request, is_complete, status));
    return get_status(MPI_REAL(MPI_Request_get_status), request, is_complete, status);
}

typedef int free_request_function(void *request);

static OUT_OF_LINE int free_request(free_request_function *real, void *request)
{
    struct mpi_waiting waiting;
    mpi_waiting_begin(&waiting, &mpi_in_c, OP_MPI_Request_free, 1, request);
    int error = real(request);
    mpi_waiting_end(&waiting);
    mpi_waiting_completed(&waiting, error);
    mpi_waiting_close(&waiting);
    return error;
}

INTERPOSE_LIBRARY(int, MPI_Request_free, (void *request))
{
    if (MPI_ONLY_COMMUNICATES(MPI_Request_free))
        return COMMUNICATED(MPI_CLASS_test, real_MPI_Request_free(request));
    return free_request(MPI_REAL(MPI_Request_free), request);
}
