/* Calls that complete requests, in C. They belong to communication, which is why each begins with an `if` that counts it as such while no I/O is
 * under way. For any thread that may call MPI. */
#include "mpi_waiting.h"

#define BODY(shape, many, which, gives, completes) \
    WAITING_BODY(int, shape, , mpi_in_c, many, which, gives, int error =, completes, return error)
#define CALL(shape, operation, name) \
    INTERPOSE_LIBRARY(int, name, shape##_PARAMETERS) \
    { \
        if (MPI_ONLY_COMMUNICATES(name)) \
            return COMMUNICATED(CLASS_OF_##operation, real_##name(shape##_ARGUMENTS)); \
        return shape(OP_##operation, MPI_REAL(name), shape##_ARGUMENTS); \
    }

#define wait_one_PARAMETERS (void *request, void *status)
#define wait_one_ARGUMENTS request, status
BODY(wait_one, 1, request, GIVES_STATUS, COMPLETES(, error))
CALL(wait_one, MPI_Wait, MPI_Wait)

#define wait_all_PARAMETERS (int count, void *requests, void *statuses)
#define wait_all_ARGUMENTS count, requests, statuses
BODY(wait_all, count, requests, GIVES_STATUSES, COMPLETES(, error))
CALL(wait_all, MPI_Wait, MPI_Waitall)

#define wait_any_PARAMETERS (int count, void *requests, int *index, void *status)
#define wait_any_ARGUMENTS count, requests, index, status
BODY(wait_any, count, requests, GIVES_STATUS, COMPLETES(, error))
CALL(wait_any, MPI_Wait, MPI_Waitany)

#define complete_some_PARAMETERS (int count, void *requests, int *completed, int *indices, void *statuses)
#define complete_some_ARGUMENTS count, requests, completed, indices, statuses
BODY(complete_some, count, requests, GIVES_STATUSES, COMPLETES(_some, completed, indices, error))
CALL(complete_some, MPI_Wait, MPI_Waitsome)
CALL(complete_some, MPI_Test, MPI_Testsome)

#define test_one_PARAMETERS (void *request, int *is_complete, void *status)
#define test_one_ARGUMENTS request, is_complete, status
BODY(test_one, 1, request, GIVES_STATUS, COMPLETES(, error))
CALL(test_one, MPI_Test, MPI_Test)

#define test_all_PARAMETERS (int count, void *requests, int *is_complete, void *statuses)
#define test_all_ARGUMENTS count, requests, is_complete, statuses
BODY(test_all, count, requests, GIVES_STATUSES, COMPLETES(, error))
CALL(test_all, MPI_Test, MPI_Testall)

#define test_any_PARAMETERS (int count, void *requests, int *index, int *is_complete, void *status)
#define test_any_ARGUMENTS count, requests, index, is_complete, status
BODY(test_any, count, requests, GIVES_STATUS, COMPLETES(, error))
CALL(test_any, MPI_Test, MPI_Testany)

#define get_status_PARAMETERS (mpi_handle request, int *is_complete, void *status)
#define get_status_ARGUMENTS request, is_complete, status
BODY(get_status, 1, &request, GIVES_STATUS, COMPLETES(_if, error != 0 || *is_complete, error))
CALL(get_status, MPI_Test, MPI_Request_get_status)

#define free_request_PARAMETERS (void *request)
#define free_request_ARGUMENTS request
BODY(free_request, 1, request, , COMPLETES(, error))
CALL(free_request, MPI_Request_free, MPI_Request_free)
