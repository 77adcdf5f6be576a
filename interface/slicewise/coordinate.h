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

/* The same by names, "name=value" with blanks between them: "files=4", and in a library below "rounds=8 bytes=16777216". These values are laid upon
 * those that are there, and `complete` takes them away again; of a name that is there more than once the last value counts. The phase has bytes x
 * rounds x files, each of the last two 1 where it is not given. Besides: seconds, demand, processes, period (seconds from the beginning of a phase to
 * that of the next), targets (numbers or names of what of the file system it uses, with commas between them: jobs that share none do not wait for
 * each other). Other names are left aside. */
int slicewise_coordinate_prepare_values(const char *values);

/* Tells the coordinator. It takes the deadline at most, where it does not answer. */
int slicewise_coordinate_inform(void);

/* Without waiting: whether the job may go. */
int slicewise_coordinate_check(void);

/* Waits for its turn; returns at once where that has come. SLICEWISE_OFF: it did not come, and the job is to go on. */
int slicewise_coordinate_wait(void);

/* A step is over, and so many bytes of the phase are left; others may get their turn here. */
int slicewise_coordinate_release(uint64_t remaining_bytes);

/* The phase is over; or, where values lie under those that were laid last, the part of it that those spoke of. */
int slicewise_coordinate_complete(void);

/* How long this process has waited so far, in seconds. */
double slicewise_coordinate_waited(void);

#ifdef __cplusplus
}
#endif

/* For who includes <mpi.h> before: the values of an MPI_Info, by what the program is linked with. What is longer than here is left aside. */
#ifdef MPI_VERSION
#include <string.h>
static inline int slicewise_coordinate_prepare_info(MPI_Info info)
{
    char values[4096] = "", key[MPI_MAX_INFO_KEY + 1], value[256];
    size_t used = 0;
    int keys = 0;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        int is_there = 0, length = sizeof value;
        MPI_Info_get_nthkey(info, i, key);
#if MPI_VERSION >= 4
        MPI_Info_get_string(info, key, &length, value, &is_there);
        is_there = is_there && length <= (int)sizeof value;
#else
        MPI_Info_get_valuelen(info, key, &length, &is_there);
        if (is_there && length < (int)sizeof value)
            MPI_Info_get(info, key, sizeof value - 1, value, &is_there);
        is_there = is_there && length < (int)sizeof value;
#endif
        size_t added = is_there ? strlen(key) + strlen(value) + 2 : 0;
        if (!is_there || used + added >= sizeof values)
            continue;
        for (char *blank = value; (blank = strchr(blank, ' ')) != NULL;)
            *blank = ',';
        strcat(strcat(strcat(strcat(values + used, key), "="), value), " ");
        used += added;
    }
    return slicewise_coordinate_prepare_values(values);
}
#endif

#endif
