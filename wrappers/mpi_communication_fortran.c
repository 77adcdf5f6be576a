/* MPI's communication in Fortran: every argument is an address, and the error code is the last one but for strings' lengths; mpi_f08 may leave it
 * out. Of the names that compilers give a routine there are the one with an underscore and that of the module mpi_f08. For any thread that may
 * call MPI. */
#include "mpi_communication.h"

#define COUNT_AT(place) *(const fortran_int *)a##place
#define INT_AT(place) *(const fortran_int *)a##place
#define TYPE_AT(place) mpi_library_datatype(*(const fortran_int *)a##place)
#define COMMUNICATOR_AT(place) mpi_library_communicator(*(const fortran_int *)a##place)

/* The argument after so many. */
#define AFTER_1 a2
#define AFTER_2 a3
#define AFTER_3 a4
#define AFTER_4 a5
#define AFTER_5 a6
#define AFTER_6 a7
#define AFTER_7 a8
#define AFTER_8 a9
#define AFTER_9 a10
#define AFTER_10 a11
#define AFTER_11 a12
#define AFTER_12 a13
#define AFTER_13 a14

#define ROUTINE(symbol, class, words, fortran_words, bytes) \
    INTERPOSE_LIBRARY(void, symbol, (PARAMETERS_##fortran_words)) \
    { \
        fortran_int own_error = 0; \
        AFTER_##words = AFTER_##words != 0 ? AFTER_##words : (word)&own_error; \
        struct communication doing = communication_begin(); \
        MPI_REAL(symbol)(ARGUMENTS_##fortran_words); \
        if (communication_stop(&doing)) \
            communication_count(MPI_CLASS_##class, doing.start_tick, doing.end_tick, *(const fortran_int *)AFTER_##words == 0 ? (bytes) : 0); \
    }
#define COMMUNICATION(name, lower, class, words, fortran_words, bytes) \
    ROUTINE(lower##_, class, words, fortran_words, bytes) \
    ROUTINE(lower##_f08_, class, words, fortran_words, bytes)
#include "communication.def"
