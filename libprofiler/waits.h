/* Waits for a turn at I/O: the profiler counts them, and does nothing else about turns. The library that takes turns (turns/, in
 * libslicewise-coordinate.so) is opened at the start where SLICEWISE_COORDINATE asks for it, and never else. This is all that either library knows
 * of the other. For any thread, but for waits_open. */
#ifndef SLICEWISE_WAITS_H
#define SLICEWISE_WAITS_H

#include "call.h"
#include "settings.h"

/* What the profiler provides: `bytes` and `settings_bytes` differ where the libraries are of two builds. */
struct turn_profiler {
    size_t bytes, settings_bytes;
    const struct settings *settings;
    const char *job;
    struct own_io *own_io;
    void (*say)(const char *format, const char *first, const char *second, const char *third);
    void (*given_up)(void);                       /* the process should take turns, and does not, or not any more */
    void (*count_wait)(uint64_t ns, bool is_new); /* as waits_count */
    void (*take_off)(uint64_t ns);                /* so much lies within the call that this thread counts next, and is none of its time */
    descriptor (*descriptor_word)(int fd);        /* as the table has it: 0 where nobody has looked at the descriptor yet */
    void *(*mpi_frame)(void);                     /* of this thread's outermost call of MPI; NULL: none */

    /* Has calls of a name come to `gate`, which calls our wrapper as `next`, where they would have come to the wrapper. */
    void (*gate)(const char *name, void *gate, void **next);
    /* The same for functions of MPI: asked for each that is found, what the wrapper is to call instead. */
    void (*gate_mpi)(void *(*gate_of)(const char *name, void *found));

    /* What is known of the MPI at hand (mpi_library.h). */
    void *(*mpi_find)(const char *name);
    bool (*mpi_constants)(void **byte, const void **status_ignore);
    bool (*mpi_place)(void *communicator, int *rank, int *ranks);
    int64_t (*mpi_bytes_asked)(int64_t count, void *datatype);
    uint64_t (*mpi_request)(const void *requests, unsigned place);
    uint64_t (*mpi_request_in_fortran)(const void *requests, unsigned place);
    void *(*mpi_file)(int32_t file);
    void *(*mpi_communicator)(int32_t communicator);
    void *(*mpi_datatype)(int32_t datatype);
};

/* What it is told. */
struct turn_taker {
    void (*stop)(void);        /* for good, without a word */
    void (*begin_child)(void); /* a child of fork begins anew */
};

/* The one function of that library that the profiler calls, once. Returns NULL where it has to do with a profiler of another build. */
#define TURN_LIBRARY_BEGIN "slicewise_turns_begin"
typedef const struct turn_taker *turn_library_begin(const struct turn_profiler *profiler);

/* Whether turns are asked for, in a process that is profiled. */
bool waits_are_wanted(void);

/* Opens it. For our constructors: the program cannot have begun to open libraries by itself. `profiler`: what
 * wrappers provide is there, and it stays. */
void waits_open(struct turn_profiler *profiler);

/* Counts a wait that ends now, or a part of one, as the process's. `is_new`: it is not the rest of a wait. */
void waits_count(uint64_t ns, bool is_new);

/* Whether it should take turns, and does not, or does not any more. */
bool waits_are_given_up(void);

/* Turns are over, for what comes next may forbid what they need; a child of fork begins. */
void waits_stop(void);
void waits_begin_child(void);

/* An address in the library's code; 0: it is not open. */
uint64_t waits_code(void);

#endif
