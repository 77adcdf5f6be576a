/* Everybody else on the node: what processes moved that are not the job's and have no profile, by user and slice, as the kernel counts it
 * (/proc/PID/io). Root alone may look. Called by one process, which is not the collector that writes the rows (others_link.h).
 *
 * A process's counts hold those of the children that it waited for: so short ones that no look met are not lost. What was counted of such a
 * child already is taken off. A process that had a child of another user, or one with a profile, counts by its own living threads alone.
 * No program's name, command line, directory or map is read. */
#ifndef SLICEWISE_OTHERS_H
#define SLICEWISE_OTHERS_H

#include "pending_slices.h"
#include "visit.h"

enum {
    OTHERS_MAX = 1 << 16,     /* processes of the node */
    OTHER_USERS_MAX = 64,     /* with rows of their own at one time; the first place is of those who are not named */
    OTHER_ROWS_MAX = OTHER_USERS_MAX * PENDING_SLICES,
    OWN_MAX = 4096,
};
#define USER_NOT_NAMED UINT32_MAX /* no user has this number */

/* Processes with a segment, whoever's job it is of, sorted by `pid`, which is that in its own namespace. */
struct profiled_by_users {
    unsigned used;
    bool is_cut; /* there were more */
    struct profiled_by_user {
        uint32_t pid, user;
        uint64_t pid_namespace, created_ns; /* CLOCK_BOOTTIME: whoever began later is somebody else; 0: not known */
    } of[PROFILED_MAX];
};

/* A process of the job, which is counted elsewhere. */
struct own {
    uint32_t pid;
    uint64_t start_ticks;
};

struct other {
    uint32_t pid, inner_pid, parent, owner, user;
    uint64_t inode, start_ticks, pid_namespace;
    bool is_kernels, is_refused, is_new; /* is_new: this look is the first */
    bool is_counted_elsewhere;
    unsigned without_segment; /* looks since it had one */
    bool is_mixed;            /* counts by its threads */
    bool has_threads;         /* which were read */
    struct looked looked, looked_now;
    uint64_t counts[KERNEL_COUNTS], now[KERNEL_COUNTS], by_threads[KERNEL_COUNTS];
    uint64_t debt[KERNEL_COUNTS]; /* counted of its children, and to come again with its own counts */
    unsigned debt_looks;
    bool has_pending; /* counts of its first look, until another one has shown that it has no segment */
    uint64_t pending[KERNEL_COUNTS];
    struct looked pending_from, pending_to;
};

struct others_row {
    uint32_t user;
    uint64_t slice, processes, counts[COUNT_CPU], unsure_ns;
};

struct others {
    const char *root; /* as in struct reading */
    bool is_named;
    uint32_t job_user, self;
    uint64_t slice_ns, looks, refused, left_out;
    unsigned used, before_used;
    struct other *seen, *before; /* in the order of their numbers */
    struct other_user {
        uint32_t user;
        struct pending_slice pending_slices[PENDING_SLICES];
        uint64_t processes[PENDING_SLICES];
    } users[OTHER_USERS_MAX];
};

/* Returns 0 or -ENOMEM. */
int others_begin(struct others *others, const char *root, uint64_t slice_ns, uint32_t job_user, bool is_named);

/* Reads the counts of all processes. */
void others_look(struct others *others);

/* After a look, and after the segments were looked for: what was transferred since the last one is pending for users. `own` is sorted. */
void others_settle(struct others *others, const struct profiled_by_users *profiled, const struct own *own, unsigned own_used);

/* Gives the rows that are pending and forgets them. Returns how many. */
unsigned others_take(struct others *others, struct others_row rows[OTHER_ROWS_MAX]);

/* Looks for the segments of all users in directories (NULL at the end), without believing more than whose they are. */
void profiled_by_users_find(struct profiled_by_users *profiled, const char *const *dirs);

#endif
