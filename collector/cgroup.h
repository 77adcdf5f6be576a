/* The job's control group (cgroup v2): where its files lie, and what their texts say. What is in no text stays as it was. */
#ifndef SLICEWISE_CGROUP_H
#define SLICEWISE_CGROUP_H

#include "names.h"

#include <stdbool.h>

enum { CGROUP_PATH_BYTES = 512, CGROUP_DISK_BYTES = 32, CGROUP_COUNTS = 4 };
enum cgroup_counts { CGROUP_IS_DONE, CGROUP_IS_LIMIT }; /* io.stat, io.max */
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

/* Where cgroup v2 is mounted, below the root; NULL: nowhere. */
const char *cgroup_v2_dir(const char *root);

/* A line of io.stat or of io.max: the disk's numbers as "8:16", and bytes read and written, reads and writes; "max" is 0. Returns whether it
 * is one. */
bool cgroup_take_disk(const char *line, enum cgroup_counts counts, char numbers[CGROUP_DISK_BYTES], uint64_t values[CGROUP_COUNTS]);

#endif
