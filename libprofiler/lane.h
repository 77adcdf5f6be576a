/* A thread's lane: it comes to the slice of a call, gets cells for mounts and layers, and is given back. For the lane's own thread. */
#ifndef SLICEWISE_LANE_H
#define SLICEWISE_LANE_H

#include "call.h"

struct share;

/* Brings the thread's lane to the slice in which the call ended: gets one if the thread has none, closes the slice before, and spreads what
 * falls into earlier slices. `layer` and `kind` are a record's: RECORD_COMMUNICATION has an enum mpi_class,
 * RECORD_THREAD_WAITS an enum thread_wait. Returns false if there is no lane to
 * be had. */
bool lane_turn(struct thread *thread, const struct call *call, uint32_t mount, unsigned layer, unsigned kind, uint64_t bytes, struct share *share);

/* Time that the thread has spent in POSIX and stdio calls on files, since some moment: of use as a difference. */
uint64_t lane_file_ns(const struct thread *thread);
/* What was added to it since it was `file_ns`, in ticks. */
uint64_t lane_file_ticks(const struct thread *thread, uint64_t file_ns);

/* Gives the lane back, with what it counted. */
void lane_release(struct thread *thread);

/* The cell of a mount and layer that the lane has not used in this slice yet. */
struct cell *lane_attach(struct thread *thread, uint32_t mount, enum layer layer);

/* The lane's waits for other threads in this slice, by enum thread_wait. */
struct communicated *lane_waits(struct thread *thread);

/* Bins have 32 bits: a slice of a minute has room for more characters than that. */
#define CELL_OPS_MOST (1ull << 31)

/* Whether the cell's bins can count some more calls. */
static inline bool lane_has_room(const struct cell *cell)
{
    return cell->served[KIND_read] + cell->counts.counter[COUNTER_read_ops] <= CELL_OPS_MOST &&
           cell->served[KIND_write] + cell->counts.counter[COUNTER_write_ops] <= CELL_OPS_MOST;
}

/* Closes what the open slice counted so far where a cell has nearly as many calls as its bins can count. */
void lane_relieve(struct thread *thread, const struct cell *cell);

#endif
