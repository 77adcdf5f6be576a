/* Limits of control groups that hold for the job's processes: those of cgroup v2 (io.max) of a process's group and of all above it, those of
 * cgroup v1 (blkio.throttle), where each group has its own alone, of its group, which may be the root. Who is outside of such a group does not
 * share its limit. */
#ifndef SLICEWISE_GROUP_LIMITS_H
#define SLICEWISE_GROUP_LIMITS_H

#include "belonging.h"
#include "cgroup.h"

enum { LIMIT_GROUPS = 16, LIMIT_DISKS = 8 };
#define SECTOR_BYTES 512 /* of the kernel's counts of disks */

struct limit_group {
    bool is_v1;
    char path[CGROUP_PATH_BYTES]; /* as /proc/PID/cgroup has it */
};

struct limits {
    uint64_t met_ns; /* CLOCK_MONOTONIC of the last look at processes; 0: never */
    unsigned next;   /* of the job's processes as they were scanned: the first that the next look is at */
    unsigned used;
    struct limit_group groups[LIMIT_GROUPS];
};

/* A disk on which a group has a limit: by the kinds of counts, what it may do in a second (0: no limit), and what it has done. */
struct limited_disk {
    char numbers[CGROUP_DISK_BYTES];
    uint64_t a_second[CGROUP_COUNTS], done[CGROUP_COUNTS];
};

/* Looks at some of the job's processes, in turn: groups that were not met before are added. At most once a second, else nothing. */
void limits_meet(struct limits *limits, const struct belonging *belonging, uint64_t now_ns);

/* Adds the groups of a process. */
void limits_meet_one(struct limits *limits, const char *root, uint32_t pid);

/* The disks on which a group has a limit, and how many. `root` as in struct reading. */
unsigned limits_read(const struct limit_group *group, const char *root, struct limited_disk disks[LIMIT_DISKS]);

#endif
