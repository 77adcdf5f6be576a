/* Sampling from outside: the kernel's counts (/proc/PID/io) of the job's processes that have no segment, since no library is in them: static
 * and Go programs, containers without the library, programs with other rights. Called by the collector's one thread.
 *
 * A process gets rows when it has moved SAMPLED_LEAST_BYTES, and when it had no segment in two rounds of visits (or lived for one alone): until
 * then its counts are pending. What is pending for a process of which a segment comes to light is dropped, since its library counts it. */
#ifndef SLICEWISE_SAMPLED_H
#define SLICEWISE_SAMPLED_H

#include "belonging.h"
#include "descriptors.h"
#include "pending_slices.h"
#include "samples.h"

enum {
    FOLLOWED_MAX = 256,
    SAMPLED_LEAST_BYTES = 64 << 10,
    PROGRAMS_MAX = 128, /* different names in the segment's text */
};

enum followed_state {
    FOLLOWED_FREE,
    FOLLOWED_NEW,      /* no rows yet */
    FOLLOWED_SAMPLED,
    FOLLOWED_PROFILED, /* it has a segment */
    FOLLOWED_REFUSED,  /* the kernel does not tell */
};

struct followed {
    enum followed_state state;
    uint32_t pid, inner_pid, parent, user;
    uint64_t start_ticks, pid_namespace, start_ns, first_ns, number;
    struct looked looked;
    bool is_from_start, is_gone, has_unsaid_end;
    bool is_by_threads; /* it has waited for children: what its threads counted is its own alone */
    unsigned rounds;    /* of visits without a segment of its own */
    uint64_t counts[KERNEL_COUNTS], by_threads[KERNEL_COUNTS], moved_bytes;
    char program[PROCESS_NAME_BYTES];
    struct descriptors descriptors;
    struct pending_slice pending_slices[PENDING_SLICES];
};

struct sampled {
    struct belonging belonging;
    uint64_t slice_ns, next_number;
    unsigned refused, left_out;
    unsigned followed_used;
    struct followed followed[FOLLOWED_MAX];
    unsigned programs_used;
    struct {
        char name[PROCESS_NAME_BYTES];
        uint64_t text, read_bytes, write_bytes; /* of its processes together, as far as rows tell */
    } programs[PROGRAMS_MAX];
    struct file_systems file_systems;
    unsigned next_where; /* of `followed`, whose descriptors are looked at first */
};

/* Returns 0 or -ENOMEM. */
int sampled_begin(struct sampled *sampled, const char *root, uint64_t slice_ns, uint32_t launcher, const char *scheduler_job);

/* Scans for the job's processes and reads the counts of those that are followed. */
void sampled_look(struct sampled *sampled, const struct profiled *profiled);

/* After a round of visits that followed a look: who has a segment is not sampled, and who has had none is. */
void sampled_settle(struct sampled *sampled, const struct profiled *profiled);

/* Adds rows of what is pending, as much as there is room for. */
void sampled_add_rows(struct sampled *sampled, struct segment_home *home, struct sample *sample);

/* The rows that were added last are kept. */
void sampled_are_kept(struct sampled *sampled);

/* No more looks: the rows that come next tell when each process was looked at last. */
void sampled_end(struct sampled *sampled);

/* Prints a list as JSON has it: each program with what its processes read and wrote. */
void sampled_print(const struct sampled *sampled);

/* Whether anybody is followed whose end would be missed by looking once a slice. */
bool sampled_is_busy(const struct sampled *sampled);

#endif
