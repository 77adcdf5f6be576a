/* Calls that complete requests, in Fortran, as in mpi_completion.c. For any thread that may call MPI. */
#include "mpi_fortran.h"
#include "mpi_waiting.h"

#define BODY(shape, many, which, gives, completes) \
    WAITING_BODY(void, shape, OWN_ERROR, mpi_in_fortran, many, which, gives, , completes, )
#define CALL(shape, operation, symbol) \
    INTERPOSE_LIBRARY(void, symbol, shape##_PARAMETERS) \
    { \
        if (MPI_ONLY_COMMUNICATES(symbol)) \
            COMMUNICATE(CLASS_OF_##operation, real_##symbol(shape##_ARGUMENTS)); \
        else \
            shape(OP_##operation, MPI_REAL(symbol), shape##_ARGUMENTS); \
    }

#define wait_one_PARAMETERS (fortran_int *request, fortran_int *status, fortran_int *error)
#define wait_one_ARGUMENTS request, status, error
BODY(wait_one, 1, request, GIVES_STATUS, COMPLETES(, *error))
FORTRAN_OF(CALL, wait_one, MPI_Wait, mpi_wait, MPI_WAIT)

#define wait_all_PARAMETERS (fortran_int *count, fortran_int *requests, fortran_int *statuses, fortran_int *error)
#define wait_all_ARGUMENTS count, requests, statuses, error
BODY(wait_all, *count, requests, GIVES_STATUSES, COMPLETES(, *error))
FORTRAN_OF(CALL, wait_all, MPI_Wait, mpi_waitall, MPI_WAITALL)

#define wait_any_PARAMETERS (fortran_int *count, fortran_int *requests, fortran_int *index, fortran_int *status, fortran_int *error)
#define wait_any_ARGUMENTS count, requests, index, status, error
BODY(wait_any, *count, requests, GIVES_STATUS, COMPLETES(, *error))
FORTRAN_OF(CALL, wait_any, MPI_Wait, mpi_waitany, MPI_WAITANY)

#define complete_some_PARAMETERS \
    (fortran_int *count, fortran_int *requests, fortran_int *completed, fortran_int *indices, fortran_int *statuses, fortran_int *error)
#define complete_some_ARGUMENTS count, requests, completed, indices, statuses, error
BODY(complete_some, *count, requests, GIVES_STATUSES, COMPLETES(_some, completed, indices, *error))
FORTRAN_OF(CALL, complete_some, MPI_Wait, mpi_waitsome, MPI_WAITSOME)
FORTRAN_OF(CALL, complete_some, MPI_Test, mpi_testsome, MPI_TESTSOME)

#define test_one_PARAMETERS (fortran_int *request, fortran_int *is_complete, fortran_int *status, fortran_int *error)
#define test_one_ARGUMENTS request, is_complete, status, error
BODY(test_one, 1, request, GIVES_STATUS, COMPLETES(, *error))
FORTRAN_OF(CALL, test_one, MPI_Test, mpi_test, MPI_TEST)

#define test_all_PARAMETERS (fortran_int *count, fortran_int *requests, fortran_int *is_complete, fortran_int *statuses, fortran_int *error)
#define test_all_ARGUMENTS count, requests, is_complete, statuses, error
BODY(test_all, *count, requests, GIVES_STATUSES, COMPLETES(, *error))
FORTRAN_OF(CALL, test_all, MPI_Test, mpi_testall, MPI_TESTALL)

#define test_any_PARAMETERS (fortran_int *count, fortran_int *requests, fortran_int *index, fortran_int *is_complete, fortran_int *status, fortran_int *error)
#define test_any_ARGUMENTS count, requests, index, is_complete, status, error
BODY(test_any, *count, requests, GIVES_STATUS, COMPLETES(, *error))
FORTRAN_OF(CALL, test_any, MPI_Test, mpi_testany, MPI_TESTANY)

#define get_status_PARAMETERS (fortran_int *request, fortran_int *is_complete, fortran_int *status, fortran_int *error)
#define get_status_ARGUMENTS request, is_complete, status, error
BODY(get_status, 1, request, GIVES_STATUS, COMPLETES(_if, *error != 0 || *is_complete != 0, *error))
FORTRAN_OF(CALL, get_status, MPI_Test, mpi_request_get_status, MPI_REQUEST_GET_STATUS)

#define free_request_PARAMETERS (fortran_int *request, fortran_int *error)
#define free_request_ARGUMENTS request, error
BODY(free_request, 1, request, , COMPLETES(, *error))
FORTRAN_OF(CALL, free_request, MPI_Request_free, mpi_request_free, MPI_REQUEST_FREE)
