/* Taking turns at I/O with other jobs that share the file system, by a program's own calls. A coordinator (slicewise-collect coordinate) advises; it
 * is found by SLICEWISE_COORDINATE_AT, and nothing happens where that is not set.
 *
 *     struct slicewise_io io = { .bytes = mine };
 *     slicewise_coordinate_prepare(&io);
 *     slicewise_coordinate_inform();
 *     slicewise_coordinate_wait();
 *     for (each part) {
 *         write the part;
 *         slicewise_coordinate_release(bytes that are left);
 *         slicewise_coordinate_wait();          // others may have been given their turn
 *     }
 *     slicewise_coordinate_complete();
 *
 * No call fails in a way that a program must handle: what cannot be coordinated goes on without. Every wait ends after SLICEWISE_COORDINATE_DEADLINE
 * seconds at the latest; the first one that does ends coordination for the rest of the run, with one line on standard error. A job of several
 * processes calls from one of them before a collective operation (and tells the others by a message of its own), or from each process for
 * its own bytes: processes of one job have one turn together. From several threads, one call at a time is heard. Not in signal handlers. */
#ifndef SLICEWISE_COORDINATE_API_H
#define SLICEWISE_COORDINATE_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slicewise_io {
    uint64_t bytes;     /* that are about to be read or written */
    double seconds;     /* that this takes alone; 0: not known, and the coordinator reckons with its file system's capacity */
    double demand;      /* the share of the file system's capacity that the job can fill alone, up to 1; 0: not known */
    uint32_t processes; /* that do this I/O; 0: one */
};

enum {
    SLICEWISE_GO = 0,   /* go: it is the job's turn, or there is nothing to wait for */
    SLICEWISE_STAY = 1, /* not yet */
    SLICEWISE_OFF = 2,  /* go: there is no coordination (any more) */
};

/* What the next phase will do. Returns SLICEWISE_GO, or SLICEWISE_OFF. */
int slicewise_coordinate_prepare(const struct slicewise_io *io);

/* Tells the coordinator. It takes the deadline at most, where it does not answer. */
int slicewise_coordinate_inform(void);

/* Without waiting: whether the job may go. */
int slicewise_coordinate_check(void);

/* Waits for its turn; returns at once where that has come. SLICEWISE_OFF: it did not come, and the job is to go on. */
int slicewise_coordinate_wait(void);

/* A step is over, and so many bytes of the phase are left; others may get their turn here. */
int slicewise_coordinate_release(uint64_t remaining_bytes);

/* The phase is over. */
int slicewise_coordinate_complete(void);

/* How long this process has waited so far, in seconds. */
double slicewise_coordinate_waited(void);

#ifdef __cplusplus
}
#endif

#endif
