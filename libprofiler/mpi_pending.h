/* I/O that was begun and that the program has not yet seen to complete: a bounded table, by request, or by file for a split collective
 * (a file has one at most). For any thread; no lock. An entry belongs to whoever claimed it until it is given back or finished. */
#ifndef SLICEWISE_MPI_PENDING_H
#define SLICEWISE_MPI_PENDING_H

#include "key_table.h"
#include "mpi_library.h"

struct mpi_pending {
    struct call call;   /* that began it */
    int64_t asked;      /* bytes */
    uint64_t key;
    uint32_t mount;
    unsigned place;     /* while it is claimed: in the array of requests in which it was found, */
    struct mpi_pending *next; /* and the next one of that array */
};

extern struct key_table mpi_pending_table;

/* Whether anything is under way: all that a call which completes nothing but communication has to know. */
static inline bool mpi_pending_any(void)
{
    return __builtin_expect(key_table_used(&mpi_pending_table) != 0, 0);
}

static inline uint64_t mpi_pending_key_of_file(mpi_handle file)
{
    return (uintptr_t)file | 1ull << 63; /* no address, and no request */
}

/* Enters what `begun` tells, or, if there is no room, counts it at once, as completed by the call that began it. */
void mpi_pending_enter(const struct mpi_pending *begun);

/* Nobody else finds it any more: when MPI completes a request, its number may be given to another one at once. Returns NULL if there is
 * none with the key. */
struct mpi_pending *mpi_pending_claim(uint64_t key);
void mpi_pending_give_back(struct mpi_pending *pending);

/* Counts it: `completing` ended when it was complete, and `moved` bytes were moved, or -1. */
void mpi_pending_finish(struct mpi_pending *pending, const struct call *completing, int64_t moved);

/* Counts all that was never seen to complete. When MPI has ended: nobody waits any more. */
void mpi_pending_finish_all(void);

#endif
