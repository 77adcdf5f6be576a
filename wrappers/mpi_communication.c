/* MPI's communication in C: every row of schema/communication.def. For any thread that may call MPI. */
#include "mpi_communication.h"

uint64_t mpi_bytes_of(mpi_count count, mpi_handle datatype, int peer)
{
    int64_t bytes = peer < 0 ? 0 : mpi_library_bytes_asked(count, datatype);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

uint64_t mpi_bytes_beside_root(mpi_count count, mpi_handle datatype, int root, mpi_handle communicator)
{
    int rank, ranks;
    bool has_part = root >= 0 && mpi_library_place(communicator, &rank, &ranks) && rank != root;
    return has_part ? mpi_bytes_of(count, datatype, 0) : 0;
}

uint64_t mpi_bytes_to_each(mpi_count count, mpi_handle datatype, mpi_handle communicator)
{
    return (uint64_t)mpi_library_processes(communicator) * mpi_bytes_of(count, datatype, 0);
}

#define INT_AT(place) (int)a##place
#define TYPE_AT(place) (mpi_handle)a##place
#define COMMUNICATOR_AT(place) (mpi_handle)a##place

#define BODY(class, real, words, bytes) \
    { \
        struct communication doing = communication_begin(); \
        word result = real(ARGUMENTS_##words); \
        if (communication_stop(&doing)) \
            communication_count(MPI_CLASS_##class, doing.start_tick, doing.end_tick, (int)result == 0 ? (bytes) : 0); \
        return result; \
    }

#define COUNT_AT(place) (int)a##place
#define COMMUNICATION(name, lower, class, words, fortran_words, bytes) \
    INTERPOSE_LIBRARY(word, name, (PARAMETERS_##words)) BODY(class, MPI_REAL(name), words, bytes)
#include "communication.def"

/* With large counts. Where MPI has only ints, a count that fits does as well. */
#undef COUNT_AT
#define COUNT_AT(place) (mpi_count)a##place
#define COUNT(first) (mpi_count)(a##first)
#define COUNTS(first, second) (mpi_count)(a##first | a##second)
#define COUNTS_OF_THREE(first, second, third) (mpi_count)(a##first | a##second | a##third)
#define REAL_FOR_COUNT(name, count) ((__typeof__(real_##name))mpi_library_for_count((void *)MPI_REAL(name), count))
#define TRANSFER(name, lower, class, words, fortran_words, bytes, counts) \
    INTERPOSE_LIBRARY(word, name##_c, (PARAMETERS_##words)) BODY(class, REAL_FOR_COUNT(name##_c, counts), words, bytes)
#define COMMUNICATION(name, lower, class, words, fortran_words, bytes)
#include "communication.def"
