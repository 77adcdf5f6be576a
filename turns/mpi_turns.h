/* A job's turn before the transfers of MPI-IO, for the gates in C and in Fortran (mpi_turns_c.c, mpi_turns_fortran.c), which stand between the
 * wrappers and the functions of MPI where SLICEWISE_COORDINATE asks for it, and only there. All is decided in mpi_turns.c. */
#ifndef SLICEWISE_MPI_TURNS_H
#define SLICEWISE_MPI_TURNS_H

#include "coordinate.h"
#include "mpi_library.h"

/* Whether this thread's call of MPI lets the POSIX writes that it makes ask for their turn (burst.c). */
enum mpi_turns_within {
    MPI_TURNS_PASS,
    MPI_TURNS_ALONE, /* a transfer of this process alone */
    MPI_TURNS_ROUND, /* a collective one, whose turn rank 0 has asked for, */
    MPI_TURNS_OWN_ROUND, /* and this is rank 0 */
};

struct mpi_turn {
    uint64_t waited_ns, bytes;
    uint32_t within_before;
    bool is_asker;
};

/* Whether the gate that asks stands in front of what the program called: not of what MPI calls by itself within it (a Fortran routine its function in
 * C). The wrapper that calls the gate has told that by its frame, whose address every frame keeps in its first word. */
static inline __attribute__((always_inline)) bool mpi_turns_is_outermost(void)
{
    return *(void **)__builtin_frame_address(0) == profiler->mpi_frame();
}

/* A file was opened (all ranks of the communicator take part); it is about to be closed, and is closed. */
void mpi_turns_opened(mpi_handle communicator, mpi_handle file);
unsigned mpi_turns_closing(mpi_handle file);
void mpi_turns_closed(unsigned place, mpi_handle file);

/* Around a collective transfer. */
struct mpi_turn mpi_turns_begin(mpi_handle file, mpi_count count, mpi_handle datatype);
void mpi_turns_end(const struct mpi_turn *turn);

/* Around a transfer of this process alone. */
struct mpi_turn mpi_turns_begin_alone(void);
void mpi_turns_end_alone(const struct mpi_turn *turn);

/* Around the first call of a split collective, and around its second one. */
void mpi_turns_begin_split(mpi_handle file, mpi_count count, mpi_handle datatype);
void mpi_turns_end_split(mpi_handle file);

/* Around the start of a nonblocking collective transfer, which has a request (0: none, for it failed) when it is under way. */
struct mpi_turn mpi_turns_start(mpi_handle file, mpi_count count, mpi_handle datatype);
void mpi_turns_started(const struct mpi_turn *turn, uint64_t request);

/* Around a call that may complete requests: `mpi_turns_look` notes which of them are such transfers. */
enum { MPI_TURNS_STARTED_MOST = 64 };
struct mpi_turns_look {
    unsigned count, place[MPI_TURNS_STARTED_MOST];
    uint64_t request[MPI_TURNS_STARTED_MOST];
};
bool mpi_turns_any_started(void);
void mpi_turns_look(struct mpi_turns_look *look, int count, const void *requests, uint64_t (*request_of)(const void *, unsigned));
void mpi_turns_looked(const struct mpi_turns_look *look, const void *requests, uint64_t (*request_of)(const void *, unsigned));

/* Has the wrappers' calls of MPI come to the gates. */
void mpi_turns_put_gates(void);

/* The gate in front of a function of MPI that was found, which is noted as what the gate calls; NULL: there is none. */
void *mpi_turns_gate_in_c(const char *name, void *found);
void *mpi_turns_gate_in_fortran(const char *name, void *found);

/* In such a function: the rows of a list of gates. */
#define MPI_TURNS_GATE(name) \
    if (strcmp(function, #name) == 0) { \
        next_##name = (__typeof__(next_##name))found; \
        return (void *)gate_##name; \
    }

#endif
