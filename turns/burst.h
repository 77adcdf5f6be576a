/* A process that moves much to or from files without a pause asks for its turn: what the gates in front of POSIX and stdio calls do
 * (burst_posix.c, burst_stdio.c), which stand there where SLICEWISE_COORDINATE asks for it, and only there. Calls within a call of MPI pass,
 * unless that is known to be a transfer (mpi_turns.h). What a call's turn costs the process is not the call's time. For any thread; which
 * of them asks is left to chance, the others pass meanwhile. */
#ifndef SLICEWISE_BURST_H
#define SLICEWISE_BURST_H

#include "coordinate.h"

enum burst {
    BURST_PASSED,  /* nobody looks at it */
    BURST_COUNTED, /* it is part of a burst, and did not ask */
    BURST_ENTERED,
    BURST_IN_ROUND, /* another process of the job has told of the bytes */
};

/* Put the gates in front of the wrappers. */
HIDDEN void burst_put_gates_for_posix(void);
HIDDEN void burst_put_gates_for_stdio(void);

/* In such a function: calls of `symbol` come to the gate of `name`. */
#define PUT_GATE(symbol, name) profiler->gate(#symbol, (void *)gate_##name, (void **)&next_##name)

/* Around a transfer on a descriptor: of so many bytes as were asked for, of which so many were moved (below 0: it failed). */
HIDDEN enum burst burst_enter(int fd, uint64_t asked);
HIDDEN void burst_leave(enum burst entered, uint64_t asked, int64_t moved);

/* So many bytes went by in parts that nobody looked at: others may get their turn now. */
HIDDEN void burst_passed(int fd, int64_t bytes);

/* The descriptor is about to be closed. */
HIDDEN void burst_closing(int fd);

#endif
