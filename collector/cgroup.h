/* The job's control group (cgroup v2): where its files lie, and what their texts say. What is in no text stays as it was. */
#ifndef SLICEWISE_CGROUP_H
#define SLICEWISE_CGROUP_H

#include "names.h"

#include <stdbool.h>

enum { CGROUP_PATH_BYTES = 512, CGROUP_DISK_BYTES = 32 };
enum cgroup_file { CGROUP_IO, CGROUP_MEMORY, CGROUP_PRESSURE, CGROUP_MEMORY_PRESSURE, CGROUP_FILES };

struct cgroup {
    char path[CGROUP_PATH_BYTES - 32]; /* as the line "0::" of /proc/PID/cgroup has it; empty: none is sampled */
    char dir[32];                      /* where the hierarchy is mounted */
    unsigned missing;                  /* files that could not be read the last time, a bit for each */
};

/* `root` as in struct reading. wanted: as the setting has it; scheduler_job: NULL where no scheduler began the job. */
void cgroup_find(struct cgroup *cgroup, const char *root, const char *wanted, const char *scheduler_job);

const char *cgroup_file_name(enum cgroup_file file);

/* The path of a file of the group, below the root. */
void cgroup_path(const struct cgroup *cgroup, enum cgroup_file file, char path[CGROUP_PATH_BYTES + 32]);

/* The counts of memory.stat, io.pressure or memory.pressure, by the columns of node_cgroups. */
void cgroup_take(const char *text, enum cgroup_file file, uint64_t *now);

/* A line of io.stat: the disk's numbers as "8:16", and its counts by the columns of node_cgroup_disks. Returns whether it is one. */
bool cgroup_take_disk(const char *line, char numbers[CGROUP_DISK_BYTES], uint64_t *now);

#endif
