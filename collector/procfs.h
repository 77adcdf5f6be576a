/* What /proc tells of one process: read by system calls that wait for nobody and take no lock of the process's memory. `root` as in struct
 * reading. Functions return 0 or -errno: -ENOENT and -ESRCH for a process that is gone, -EACCES for one that may not be looked at. */
#ifndef SLICEWISE_PROCFS_H
#define SLICEWISE_PROCFS_H

#include "names.h"

#include <stdbool.h>
#include <stddef.h>

/* The counts of a process in the order of node_process_slices, from its first value on; /proc/PID/io has all but the last in the same order. */
enum {
    KERNEL_COUNTS = node_process_slices_cpu_ns + 1 - node_process_slices_read_bytes,
    COUNT_READ_BYTES = 0, /* write_... follows */
    COUNT_READ_CALLS = node_process_slices_read_ops - node_process_slices_read_bytes,
    COUNT_WRITE_CALLS = node_process_slices_write_ops - node_process_slices_read_bytes,
    COUNT_STORED_READ = node_process_slices_kernel_read_bytes - node_process_slices_read_bytes, /* likewise */
    COUNT_STORED_WRITE = node_process_slices_kernel_write_bytes - node_process_slices_read_bytes,
    COUNT_CPU = node_process_slices_cpu_ns - node_process_slices_read_bytes,
    PROCESS_NAME_BYTES = 200,
};

struct process_look {
    uint32_t parent, session, threads;
    uint64_t start_ticks; /* since boot: with the process id this is one process and no other */
    uint64_t cpu_ns;
    bool is_kernels, has_ended;   /* a thread of the kernel; a zombie, of which the counts are final */
    bool is_waiting;              /* its first thread sleeps in the kernel, and no signal wakes it (state D) */
    bool has_reaped;              /* it waited for a child, whose counts the kernel then adds to its own */
    char name[32];
};

/* A line of a kernel's text: the name that it begins with, and where its number goes, times `unit` (0: in pages). */
struct named_line {
    const char *name;
    enum column column;
    uint64_t unit;
};

/* The numbers of a text, each right behind `behind` in its line. A line without a name ends the list; what is in no line stays as it was. */
void procfs_take_lines(const char *text, const struct named_line *lines, const char *behind, uint64_t *now);

/* `pid`: of a process, or of one of its threads, whose state it then is. */
int procfs_look(const char *root, uint32_t pid, struct process_look *look);

/* The numbers of a process's threads. Returns how many, at most `most`, or -errno. */
long procfs_threads(const char *root, uint32_t pid, uint32_t *threads, size_t most);

/* The function of the kernel in which a thread sleeps; empty: it does not, or the kernel does not say. */
void procfs_place(const char *root, uint32_t thread, char *place, size_t room);

/* For bsearch and qsort: rows by the number of their process, their first member. */
int procfs_by_pid(const void *one, const void *other);
/* The row of a process in a table in that order, or NULL; a table without rows may be NULL. */
void *procfs_find(const uint32_t *pid, const void *table, size_t used, size_t row_bytes);

/* When a process began, in CLOCK_REALTIME. */
uint64_t procfs_began_ns(uint64_t start_ticks);

/* What the process read and wrote, its threads that are gone and the children that it waited for included. */
int procfs_counts(const char *root, uint32_t pid, uint64_t counts[KERNEL_COUNTS]);

/* The same without processor time, with whom the file belongs to: the process's effective user, or root where that may not be told; and with a
 * number that stays while this process lives, though the kernel may give it another one. */
int procfs_owned_counts(const char *root, uint32_t pid, uint64_t counts[KERNEL_COUNTS], uint32_t *owner, uint64_t *inode);

/* What its living threads read and wrote: neither of these included. -E2BIG: they are too many to look at. */
int procfs_thread_counts(const char *root, uint32_t pid, uint64_t counts[KERNEL_COUNTS]);

/* What one of its threads read and wrote. */
int procfs_counts_of_thread(const char *root, uint32_t pid, uint32_t thread, uint64_t counts[KERNEL_COUNTS]);

/* The system call in which a thread waits, with its arguments. Returns its number; -1: it is in none, as when it waits
 * for a page; or -errno: -EAGAIN, it does not wait any more. */
long procfs_call(const char *root, uint32_t thread, uint64_t arguments[6]);

/* The numbers of its descriptors, in order, from one on. Returns how many, at most `most`, or -errno. */
long procfs_descriptors(const char *root, uint32_t pid, uint32_t from, uint32_t *descriptors, size_t most);

/* A file of its directory, as text. Returns its length, at most `room` - 1, or -errno. */
long procfs_text(const char *root, uint32_t pid, const char *name, char *text, size_t room);

/* The path of its executable, the end of it where it is long. */
int procfs_program(const char *root, uint32_t pid, char path[PROCESS_NAME_BYTES]);

/* Its number in its own pid namespace and that namespace, as segments name it; 0: not to be told. */
uint32_t procfs_inner_pid(const char *root, uint32_t pid);
uint64_t procfs_pid_namespace(const char *root, uint32_t pid);

/* Its owner, as far as the kernel tells. */
uint32_t procfs_user(const char *root, uint32_t pid);

/* Whether it lies in a control group of that path, or below. */
bool procfs_is_in_cgroup(const char *root, uint32_t pid, const char *cgroup);

/* The path of our own control group up to the part that is named after a job (NULL: the whole path); empty: there is none. is_unified: of
 * cgroup v2 alone. */
void procfs_cgroup_of_job(const char *root, const char *job, bool is_unified, char *cgroup, size_t room);

/* All process ids in rising order, `most` at most. Returns how many, or -errno. */
long procfs_list(const char *root, uint32_t *pids, size_t most);

#define PROCESS_TICK_NS 10000000ull /* USER_HZ is 100 wherever we run */

#endif
