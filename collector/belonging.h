/* Which processes of the node are the job's. These are: processes with a segment of the job, children of the process that began the job
 * (`launcher`), the one that was given (`attached`), whoever lies in the control group that the scheduler named after the job, and of all these
 * the descendants and the members of a session that one of them began. A process is told by its number and by when it began. No process is
 * asked anything: a scan reads one directory, and one file a process that was not there before. */
#ifndef SLICEWISE_BELONGING_H
#define SLICEWISE_BELONGING_H

#include "procfs.h"
#include "visit.h"

enum { SEEN_MAX = 1 << 16 };

struct seen {
    uint32_t pid, parent, session;
    uint64_t start_ticks;
    unsigned profiled_scan; /* in which it last had a segment */
    bool is_of_job, is_kernels;
    bool is_left_out; /* there was no room to follow it */
    uint64_t watched_ns; /* CLOCK_REALTIME: when its threads were last looked at; 0: never */
};

struct belonging {
    const char *root;
    uint32_t self, launcher; /* the collector, and the process that began the job: neither is the job's; 0: nobody began it */
    uint32_t attached;       /* a process that is the job's, and lives for longer than the collector; 0: none was given */
    uint64_t pid_namespace;
    char cgroup[512];
    unsigned scans, used;
    bool is_cut; /* the node has more processes */
    struct seen *seen, *before; /* in the order of their numbers */
};

/* Returns 0 or -ENOMEM. `scheduler_job`: NULL where no scheduler began the job. */
int belonging_begin(struct belonging *belonging, const char *root, uint32_t launcher, const char *scheduler_job);

/* Some of the job's processes, in turn: those from `*next` on, which becomes the first of the next time. Returns how many were found; of_job:
 * of how many. */
unsigned belonging_some(const struct belonging *belonging, unsigned *next, unsigned most, struct seen **found, unsigned *of_job);

/* Looks who is there, and whose. Afterwards `seen` has all processes of the node. */
void belonging_scan(struct belonging *belonging, const struct profiled *profiled);

#endif
