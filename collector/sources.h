/* What the kernel counts of the node as a whole: read from /proc and /sys, as cumulative counts. Nothing here keeps anything from one reading
 * to the next but the devices' numbers; text that is not as expected is passed over, and its counts stay absent. */
#ifndef SLICEWISE_SOURCES_H
#define SLICEWISE_SOURCES_H

#include "bpf.h"
#include "cgroup.h"
#include "connections.h"
#include "group_limits.h"
#include "waiting.h"

#include <stdbool.h>

enum { DEVICES_MAX = 256, DEVICE_VALUES_MAX = NODE_NFS_COLUMNS };

/* Counts by column of the kind's table; those of the keys are unused. */
struct device {
    enum device_kind kind;
    bool is_present, was_present; /* in this reading, in the one before */
    char name[256], source[256];
    uint64_t now[DEVICE_VALUES_MAX], before[DEVICE_VALUES_MAX];
};

struct reading {
    const char *root; /* "", or a directory that stands for the system's root */
    uint64_t now[NODE_SLICE_COLUMNS], before[NODE_SLICE_COLUMNS];
    unsigned devices_used;
    unsigned devices_left_out;
    struct device devices[DEVICES_MAX];
    struct cgroup cgroup; /* the job's */
    struct limits limits;
    struct bpf bpf;
    struct connections connections;
    struct waiting waiting;
    struct device *of_slot[CONNECTION_SLOTS]; /* the device that stands for a slot of connections */
};

/* Makes what was `now` the counts before, and reads anew. */
void sources_read(struct reading *reading);

/* Looks for control groups with a limit that holds for the job; `now_ns`: CLOCK_MONOTONIC. */
void sources_meet(struct reading *reading, const struct belonging *belonging, uint64_t now_ns);

/* As if the last reading had not been: its counts will be in the next one. */
void sources_take_back(struct reading *reading);

/* The table of a kind's counts. */
enum table sources_table(enum device_kind kind);

#endif
