#include "kernel.h"

#include "clock.h"
#include "raw.h"
#include "record.h"
#include "text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

START_DATA struct own_io own_io;
START_DATA bool kernel_awaits_first_call;
START_DATA int64_t errno_offset;

/* The fields of /proc/PID/io, in its order. */
enum field { RCHAR, WCHAR, SYSCR, SYSCW, READ_BYTES, WRITE_BYTES, FIELDS };
struct counted {
    uint64_t field[FIELDS];
};

/* A thread that said that it ends. Until it is gone it may read and write more, and it may end a second time. */
struct ending_thread {
    int tid;
    bool is_there; /* among the living of the last look */
    struct counted counted;
};
enum { ENDING_THREADS = 16 };

static CALL_DATA struct {
    struct counted reported;      /* sampled so far */
    struct counted ended_threads; /* of threads that are gone, as far as somebody noted them */
    struct counted to_come;       /* what libc writes after the last sample */
    struct ending_thread ending[ENDING_THREADS];
    uint32_t next_ending;
    _Atomic uint32_t ended_uncounted; /* threads that ended and are in neither */
    uint32_t asked_by;                /* a vforked child that starts the engine in its parent asks by the parent's id; 0: the process itself */
    bool is_noted;
    uint64_t noted_stored_bytes;      /* before the process's first deed */
} kernel;

/* Of a process (its number, or "self") or of one of its threads. Returns the bytes that the look itself read, or 0. */
static uint64_t read_io(struct counted *counted, const char *process, const char *between, const char *thread)
{
    char text[512], path[320], *end = path + sizeof path;
    text_put(text_put(text_put(text_put(text_put(path, end, "/proc/"), end, process), end, between), end, thread), end, "/io");
    size_t length = raw_read_at_once(path, text, sizeof text);
    if (length == 0)
        return 0;
    const char *at = text;
    for (int i = 0; i < FIELDS; i++) {
        at = strchr(at, ':');
        if (at == NULL)
            return 0;
        counted->field[i] = text_number(at + 1);
        at++;
    }
    return length;
}

static void add(struct counted *to, const struct counted *more)
{
    for (int i = 0; i < FIELDS; i++)
        to->field[i] += more->field[i];
}

static void subtract(struct counted *from, const struct counted *less)
{
    for (int i = 0; i < FIELDS; i++)
        from->field[i] -= from->field[i] < less->field[i] ? from->field[i] : less->field[i];
}

static struct counted counted_of(const struct own_io *own)
{
    return (struct counted){ { [RCHAR] = own->read_bytes, [WCHAR] = own->write_bytes, [SYSCR] = own->reads, [SYSCW] = own->writes } };
}

/* A process's count takes in its threads that are gone, and the children that it has waited for; a thread's takes in neither. */
static bool has_reaped_children(void)
{
    struct rusage usage;
    return raw_getrusage(RUSAGE_CHILDREN, &usage) == 0 && usage.ru_maxrss != 0;
}

static bool has_children(void)
{
    siginfo_t child; /* nobody reads it; without one, valgrind reports the call */
    return raw_result(syscall(SYS_waitid, P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL)) != -ECHILD;
}

static struct ending_thread *find_ending(int tid)
{
    for (int i = 0; i < ENDING_THREADS; i++)
        if (kernel.ending[i].tid == tid)
            return &kernel.ending[i];
    return NULL;
}

/* What a process's living threads counted, and those that are known to be gone. `own`: what of it the profiler did itself; the reads of
 * this very look are in it as far as the calling thread, whose they are, had made them when it was looked at. */
static bool sum_threads(struct counted *sum, struct own_io *own, const char *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/task", process);
    int fd = raw_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return false;
    int self = raw_gettid();
    *own = own_io;
    *sum = kernel.ended_threads;
    for (int i = 0; i < ENDING_THREADS; i++)
        kernel.ending[i].is_there = false;
    static char entries[4096] __attribute__((aligned(8)));
    long bytes;
    while ((bytes = raw_result(syscall(SYS_getdents64, fd, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            int tid = atoi(entry->d_name);
            struct counted thread;
            if (tid == self)
                *own = own_io;
            if (tid == 0 || read_io(&thread, process, "/task/", entry->d_name) == 0)
                continue;
            add(sum, &thread);
            struct ending_thread *ending = find_ending(tid);
            if (ending != NULL)
                ending->is_there = true;
        }
    raw_close(fd);
    for (int i = 0; i < ENDING_THREADS; i++)
        if (!kernel.ending[i].is_there)
            add(sum, &kernel.ending[i].counted);
    return true;
}

/* Everything the kernel counted for this process alone, ourselves left out. */
static bool read_all(struct segment_home *home, struct counted *counted)
{
    struct own_io own = own_io; /* before reading: the reads of this sample are counted by the next one */
    char process[16] = "self";
    if (kernel.asked_by != 0)
        text_put_number(process, process + sizeof process, kernel.asked_by);
    bool is_by_thread = has_reaped_children();
    if (is_by_thread ? !sum_threads(counted, &own, process) : read_io(counted, process, "", "") == 0)
        return false;
    if (is_by_thread && kernel.ended_uncounted > 0) {
        home->segment->problems[PROBLEM_kernel_count_partial] += kernel.ended_uncounted;
        kernel.ended_uncounted = 0;
    }
    home->segment->process_row[processes_all_read_bytes] = counted->field[RCHAR];
    home->segment->process_row[processes_all_write_bytes] = counted->field[WCHAR];
    const struct counted ours = counted_of(&own);
    subtract(counted, &ours);
    return true;
}

void kernel_note(const struct rusage *now)
{
    kernel.noted_stored_bytes = (uint64_t)now->ru_oublock * RUSAGE_BLOCK_BYTES;
    kernel.is_noted = true;
}

/* By a call that costs next to nothing: the first look into /proc costs a short process a tenth of its life. */
uint64_t kernel_unseen(void)
{
    struct rusage now;
    uint64_t stored = raw_getrusage(RUSAGE_SELF, &now) == 0 ? (uint64_t)now.ru_oublock * RUSAGE_BLOCK_BYTES : 0;
    return kernel.is_noted && stored > kernel.noted_stored_bytes ? stored - kernel.noted_stored_bytes : 0;
}

static void take_back(uint64_t *counted, uint64_t bytes)
{
    *counted -= *counted < bytes ? *counted : bytes;
}

void kernel_start(struct segment_home *home, bool is_forked, uint32_t asked_by)
{
    uint64_t unseen = is_forked ? 0 : kernel_unseen();
    memset(&kernel, 0, sizeof kernel);
    if (is_forked)
        return;
    kernel.asked_by = asked_by;
    if (!read_all(home, &kernel.reported))
        segment_count_problem(home->segment, PROBLEM_no_kernel_count);
    if (unseen > KERNEL_LITTLE_BYTES) {
        take_back(&kernel.reported.field[WCHAR], unseen);
        take_back(&kernel.reported.field[WRITE_BYTES], unseen);
    }
    kernel.asked_by = 0;
    kernel_awaits_first_call = true;
}

void kernel_take_in_first_call(uint64_t read_bytes, uint64_t write_bytes)
{
    kernel_awaits_first_call = false;
    take_back(&kernel.reported.field[RCHAR], read_bytes);
    take_back(&kernel.reported.field[SYSCR], read_bytes > 0);
    take_back(&kernel.reported.field[WCHAR], write_bytes);
    take_back(&kernel.reported.field[SYSCW], write_bytes > 0);
}

void kernel_will_write(uint64_t bytes)
{
    kernel.to_come.field[WCHAR] += bytes;
    kernel.to_come.field[SYSCW]++;
}

void kernel_sample(struct segment_home *home, uint64_t slice)
{
    struct counted now;
    if (home->segment->problems[PROBLEM_no_kernel_count] > 0)
        return;
    if (!read_all(home, &now)) {
        segment_count_problem(home->segment, PROBLEM_no_kernel_count);
        return;
    }
    add(&now, &kernel.to_come);
    struct record record = { .slice = slice, .mount = 0, .layer = LAYER_kernel };
    static const enum counter counters[FIELDS] = { COUNTER_read_bytes, COUNTER_write_bytes,       COUNTER_read_ops,
                                                   COUNTER_write_ops,  COUNTER_kernel_read_bytes, COUNTER_kernel_write_bytes };
    uint64_t any = 0;
    for (int i = 0; i < FIELDS; i++) {
        uint64_t more = now.field[i] > kernel.reported.field[i] ? now.field[i] - kernel.reported.field[i] : 0;
        record.counts.counter[counters[i]] = more;
        any |= more;
    }
    if (any == 0 || !record_append(home, &record)) /* without room the next slice's record has this one's counts, too */
        return;
    for (int i = 0; i < FIELDS; i++)
        kernel.reported.field[i] += record.counts.counter[counters[i]];
}

bool kernel_minds_children(void)
{
    return kernel.ended_uncounted > 0;
}

void kernel_child_begins(const struct segment_home *home)
{
    if (kernel.ended_uncounted == 0 || has_reaped_children())
        return;
    char process[16];
    snprintf(process, sizeof process, "%u", home->segment->pid); /* a vforked child is not that process, and its reads are not ours */
    bool is_vforked = (uint32_t)raw_getpid() != home->segment->pid;
    struct own_io before = own_io, own;
    struct counted whole, living;
    if (read_io(&whole, process, "", "") > 0 && sum_threads(&living, &own, process)) {
        if (is_vforked)
            own = before;
        struct counted ours = counted_of(&own);
        subtract(&living, &ours);
        ours = counted_of(&before);
        subtract(&whole, &ours);
        subtract(&whole, &living);
        add(&kernel.ended_threads, &whole);
        kernel.ended_uncounted = 0;
    }
    if (is_vforked)
        own_io = before;
}

void kernel_thread_ends(void)
{
    int tid = raw_gettid();
    struct ending_thread *ending = find_ending(tid);
    if (ending == NULL && !has_children() && !has_reaped_children()) {
        kernel.ended_uncounted++;
        return;
    }
    struct counted counted;
    uint64_t read_bytes = read_io(&counted, "thread-self", "", "");
    if (read_bytes == 0) {
        kernel.ended_uncounted++;
        return;
    }
    counted.field[RCHAR] += read_bytes; /* by this look */
    counted.field[SYSCR]++;
    if (ending == NULL) {
        ending = &kernel.ending[kernel.next_ending++ % ENDING_THREADS];
        add(&kernel.ended_threads, &ending->counted);
    }
    *ending = (struct ending_thread){ .tid = tid, .counted = counted };
}
