#include "kernel.h"

#include "raw.h"
#include "record.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct own_io own_io;

/* The fields of /proc/PID/io, in its order. */
enum field { RCHAR, WCHAR, SYSCR, SYSCW, READ_BYTES, WRITE_BYTES, FIELDS };
struct counted {
    uint64_t field[FIELDS];
};

static struct {
    struct counted reported;      /* sampled so far */
    struct counted ended_threads; /* of threads that ended after a child had been reaped */
    _Atomic uint32_t ended_uncounted;
} kernel;

static bool read_io(const char *path, struct counted *counted)
{
    char text[512];
    int fd = raw_open(path, O_RDONLY, 0);
    if (fd < 0)
        return false;
    long length = raw_read(fd, text, sizeof text - 1); /* the kernel gives all of it at once */
    raw_close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    const char *at = text;
    for (int i = 0; i < FIELDS; i++) {
        at = strchr(at, ':');
        if (at == NULL)
            return false;
        counted->field[i] = strtoull(at + 1, NULL, 10);
        at++;
    }
    return true;
}

static void add(struct counted *to, const struct counted *more)
{
    for (int i = 0; i < FIELDS; i++)
        to->field[i] += more->field[i];
}

/* A process's count takes in the children that it has waited for; a thread's does not. */
static bool has_reaped_children(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_maxrss != 0;
}

static bool sum_threads(struct counted *sum)
{
    int fd = raw_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return false;
    *sum = kernel.ended_threads;
    static char entries[4096] __attribute__((aligned(8)));
    long bytes;
    while ((bytes = raw_result(syscall(SYS_getdents64, fd, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            char path[300];
            struct counted thread;
            snprintf(path, sizeof path, "/proc/self/task/%s/io", entry->d_name);
            if (entry->d_name[0] != '.' && read_io(path, &thread))
                add(sum, &thread);
        }
    raw_close(fd);
    return true;
}

/* Everything the kernel counted for this process alone, ourselves left out. */
static bool read_all(struct segment_home *home, struct counted *counted)
{
    struct own_io own = own_io; /* before reading: the reads of this sample are counted by the next one */
    bool is_by_thread = has_reaped_children();
    if (is_by_thread ? !sum_threads(counted) : !read_io("/proc/self/io", counted))
        return false;
    if (is_by_thread && kernel.ended_uncounted > 0) {
        home->segment->mishaps[MISHAP_kernel_count_partial] += kernel.ended_uncounted;
        kernel.ended_uncounted = 0;
    }
    home->segment->process_row[processes_all_read_bytes] = counted->field[RCHAR];
    home->segment->process_row[processes_all_write_bytes] = counted->field[WCHAR];
    const uint64_t ours[FIELDS] = { [RCHAR] = own.read_bytes, [WCHAR] = own.write_bytes, [SYSCR] = own.reads, [SYSCW] = own.writes };
    for (int i = 0; i < FIELDS; i++)
        counted->field[i] -= counted->field[i] < ours[i] ? counted->field[i] : ours[i];
    return true;
}

void kernel_start(struct segment_home *home, bool is_forked)
{
    memset(&kernel, 0, sizeof kernel);
    if (!is_forked && !read_all(home, &kernel.reported))
        segment_count_mishap(home->segment, MISHAP_no_kernel_count);
}

void kernel_sample(struct segment_home *home, uint64_t slice)
{
    struct counted now;
    if (home->segment->mishaps[MISHAP_no_kernel_count] > 0)
        return;
    if (!read_all(home, &now)) {
        segment_count_mishap(home->segment, MISHAP_no_kernel_count);
        return;
    }
    struct record record = { .slice = slice, .mount = 0, .layer = LAYER_kernel };
    static const enum counter counters[FIELDS] = { COUNTER_read_bytes, COUNTER_write_bytes,        COUNTER_read_ops,
                                                   COUNTER_write_ops,  COUNTER_kernel_read_bytes, COUNTER_kernel_write_bytes };
    uint64_t any = 0;
    for (int i = 0; i < FIELDS; i++) {
        uint64_t more = now.field[i] > kernel.reported.field[i] ? now.field[i] - kernel.reported.field[i] : 0;
        record.counts.counter[counters[i]] = more;
        kernel.reported.field[i] += more;
        any |= more;
    }
    if (any != 0)
        record_append(home, &record);
}

void kernel_thread_ends(void)
{
    struct counted thread;
    if (!has_reaped_children())
        kernel.ended_uncounted++;
    else if (read_io("/proc/thread-self/io", &thread))
        add(&kernel.ended_threads, &thread);
}
