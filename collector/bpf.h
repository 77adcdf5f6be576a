/* What all processes of the node read and write on each file system, as a program in the kernel counts it (bpf/moved.bpf.c), where root asks
 * for it. The program is the kernel's as long as the collector holds it: it is gone with the collector, however that ends. */
#ifndef SLICEWISE_BPF_H
#define SLICEWISE_BPF_H

#include "cgroup.h"

#include <stddef.h>

enum {
    MOVED_SLOTS = 128, /* rows of their own; what is beyond is added up in the first one, of which nobody knows more */
    MOVED_NAME_BYTES = 256,
};

/* What the job, or what others, moved on a file system since the program was loaded. */
struct moved_slot {
    bool is_of_job;
    uint64_t group;
    uint32_t device;
    char name[MOVED_NAME_BYTES];   /* the mount point; the device's numbers where none is known; "" of what is added up */
    char source[MOVED_NAME_BYTES]; /* the control group; "" of all together */
    uint64_t now[NODE_CGROUP_MOUNT_COLUMNS];
};

struct bpf {
    int map; /* 0: nothing is counted */
    int error;
    unsigned processors, slots_used;
    struct moved_slot slots[MOVED_SLOTS];
};

/* Loads the program. Root's call, once. job: its control group; is_named: whether others' groups are told apart. Returns the descriptor of
 * its sums, or -errno with `why` in words. */
int bpf_begin(const struct cgroup *job, bool is_named, const char **why);

/* Reads the sums. mountinfo: the text of /proc/self/mountinfo. */
void bpf_read(struct bpf *bpf, const struct cgroup *job, const char *mountinfo);

/* The mount point of a file system's device; its numbers where the text has none. The mount of its root rather than of a directory in it. */
void bpf_mount_of(const char *mountinfo, uint32_t device, char *name, size_t room);

/* The path of a control group by its number; "" where there is none any more. */
void bpf_group_path(const struct cgroup *job, uint64_t group, char *path, size_t room);

#endif
