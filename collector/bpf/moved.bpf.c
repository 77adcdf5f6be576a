/* Runs in the kernel, where a site asks for it: when a system call of any process on the node returns, adds what it read or wrote to the sums of
 * its control group and of the file's file system. It changes nothing, and waits for nobody.
 *
 * A tracepoint rather than functions of the file systems (fexit): a kernel that is locked down loads no program of the latter kind. Only
 * regular files and block devices count. The descriptor is looked up when the call is over: where another thread closed it meanwhile, the
 * call is left out. */
#include "key.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum { KEYS_MAX = 4096, LEVELS_MAX = 12, KIND = 0170000, REGULAR = 0100000, BLOCK = 0060000, IS_32_BIT = 2 };

/* linux/magic.h */
enum { PROC = 0x9fa0, SYSFS = 0x62656572, CGROUP = 0x27e0eb, CGROUP2 = 0x63677270, DEBUGFS = 0x64626720, TRACEFS = 0x74726163 };

/* The members of the kernel's records that are used here; where they lie is found when the program is loaded. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct super_block {
    unsigned s_dev;
    unsigned long s_magic;
};
struct inode {
    struct super_block *i_sb;
    unsigned short i_mode;
};
struct file {
    struct inode *f_inode;
};
struct fdtable {
    unsigned max_fds;
    struct file **fd;
};
struct files_struct {
    struct fdtable *fdt;
};
struct thread_info {
    unsigned status;
};
struct task_struct {
    struct thread_info thread_info;
    struct files_struct *files;
};
struct pt_regs {
    unsigned long orig_ax, di, si, dx;
};
#pragma clang attribute pop

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, KEYS_MAX);
    __type(key, struct moved_key);
    __type(value, struct moved);
} moved SEC(".maps");

const volatile struct moved_choice choice = { 0 };

static __always_inline struct file *file_of(struct task_struct *task, unsigned descriptor)
{
    struct files_struct *of_task = task->files;
    struct file *file = 0;
    if (of_task != 0 && descriptor < of_task->fdt->max_fds)
        bpf_probe_read_kernel(&file, sizeof file, of_task->fdt->fd + descriptor);
    return file;
}

/* The kernel's own texts, as of /proc: no storage. Looked at once for each sum. */
static __always_inline int is_text(unsigned long kind)
{
    return kind == PROC || kind == SYSFS || kind == CGROUP || kind == CGROUP2 || kind == DEBUGFS || kind == TRACEFS;
}

static __always_inline int is_of_job(__u64 group)
{
    if (choice.job_group == 0)
        return 0;
    if (group == choice.job_group)
        return 1;
    for (int level = 1; level < LEVELS_MAX; level++) {
        __u64 above = bpf_get_current_ancestor_cgroup_id(level);
        if (above == 0 || above == choice.job_group)
            return above != 0;
    }
    return 0;
}

static __always_inline struct moved *sums_of(const struct moved_key *key, struct inode *inode)
{
    struct moved *sums = bpf_map_lookup_elem(&moved, key);
    if (sums != 0)
        return sums;
    struct moved none = { .is_text = is_text(BPF_CORE_READ(inode, i_sb, s_magic)) };
    bpf_map_update_elem(&moved, key, &none, BPF_NOEXIST);
    return bpf_map_lookup_elem(&moved, key);
}

/* Another thread may come between on the same processor: so the additions are whole. */
static __always_inline void add(struct moved *sums, int is_write, __u64 bytes)
{
    __sync_fetch_and_add(is_write ? &sums->write_bytes : &sums->read_bytes, bytes);
    __sync_fetch_and_add(is_write ? &sums->write_ops : &sums->read_ops, 1);
}

/* Not inlined three times: the collector carries it. */
static __attribute__((noinline)) int count(unsigned descriptor, __u64 bytes, int is_write)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    struct file *file = file_of(task, descriptor);
    if (file == 0)
        return 0;
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    unsigned kind = BPF_CORE_READ(inode, i_mode) & KIND;
    if (kind != REGULAR && kind != BLOCK)
        return 0;
    __u64 group = bpf_get_current_cgroup_id();
    struct moved_key key = { .device = BPF_CORE_READ(inode, i_sb, s_dev) };
    int is_job = is_of_job(group);
    key.by = is_job ? MOVED_BY_JOB : MOVED_BY_OTHERS;
    key.group = is_job || !choice.is_named ? 0 : group;
    struct moved *sums = sums_of(&key, inode);
    if (sums == 0) {
        struct moved_key rest = { .by = MOVED_LEFT_OUT };
        sums = bpf_map_lookup_elem(&moved, &rest);
    }
    if (sums != 0)
        add(sums, is_write, bytes);
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(slicewise_moved, struct pt_regs *registers, long returned)
{
    enum { READ, WRITE, PREAD64 = 17, PWRITE64, READV, WRITEV, SENDFILE = 40, PREADV = 295, PWRITEV, COPY_FILE_RANGE = 326, PREADV2, PWRITEV2 };
    if (returned < 0)
        return 0;
    unsigned long call = registers->orig_ax;
    int is_reading = call == READ || call == PREAD64 || call == READV || call == PREADV || call == PREADV2;
    int is_writing = call == WRITE || call == PWRITE64 || call == WRITEV || call == PWRITEV || call == PWRITEV2;
    int is_copying = call == SENDFILE || call == COPY_FILE_RANGE;
    if (!is_reading && !is_writing && !is_copying)
        return 0;
    /* The numbers of calls of 32-bit programs are others. */
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (task->thread_info.status & IS_32_BIT)
        return 0;
    if (is_copying) {
        count((unsigned)(call == SENDFILE ? registers->si : registers->di), (__u64)returned, 0);
        count((unsigned)(call == SENDFILE ? registers->di : registers->dx), (__u64)returned, 1);
    } else {
        count((unsigned)registers->di, (__u64)returned, is_writing);
    }
    return 0;
}

char terms[] SEC("license") = "Dual BSD/GPL";
