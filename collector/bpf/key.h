/* What the program in the kernel (moved.bpf.c) and the collector agree about. */
#ifndef SLICEWISE_BPF_KEY_H
#define SLICEWISE_BPF_KEY_H

#include <linux/types.h>

enum moved_by { MOVED_BY_JOB, MOVED_BY_OTHERS, MOVED_LEFT_OUT };

struct moved_key {
    __u64 group; /* the control group's number; 0: whatever it is */
    __u32 device; /* of the file system, as the kernel has it in s_dev */
    __u32 by;
};

/* Counts in the order of node_cgroup_mounts, from its first value on. One a processor. */
struct moved {
    __u64 read_bytes, write_bytes, read_ops, write_ops;
    __u64 is_text; /* on the processor that made it: its file system is no storage, as /proc */
};

struct moved_choice {
    __u64 job_group; /* 0: none is known */
    __u32 is_named;  /* whether others' control groups are told apart */
};

#endif
