#include "procfs.h"

#include "clock.h"
#include "raw.h"
#include "text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    THREADS_LOOKED_AT = 256,
    KERNEL_THREAD_FLAG = 0x00200000,
    STATUS_BYTES = 4096,
    DOTS = 2,        /* . and .., before the numbers */
    ENTRY_BYTES = 32 /* of a number in a directory, at most */
};

/* The fields of /proc/PID/stat that are asked for, from the third one on, which follows the name. */
enum {
    STATE = 3,
    PARENT = 4,
    SESSION = 6,
    FLAGS = 9,
    CHILDREN_MINOR_FAULTS = 11,
    CHILDREN_MAJOR_FAULTS = 13,
    USER_TIME = 14,
    SYSTEM_TIME = 15,
    THREADS = 20,
    START = 22,
    STAT_FIELDS
};

void procfs_take_lines(const char *text, const struct named_line *lines, const char *behind, uint64_t *now)
{
    for (const char *line = text, *next; *line != '\0'; line = next) {
        next = text_next_line(line);
        for (const struct named_line *named = lines; named->name != NULL; named++) {
            size_t length = strlen(named->name);
            const char *value = strncmp(line, named->name, length) == 0 ? strstr(line + length, behind) : NULL;
            if (value != NULL && value < next)
                now[named->column] = strtoull(value + strlen(behind), NULL, 10) * (named->unit != 0 ? named->unit : (uint64_t)sysconf(_SC_PAGESIZE));
        }
    }
}

static long read_text(const char *root, uint32_t pid, const char *name, char *text, size_t room, struct stat *status)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc/%u/%s", root, pid, name);
    int fd = raw_open(path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    long got = status == NULL || fstat(fd, status) == 0 ? raw_read(fd, text, room - 1) : -ENOENT; /* the kernel gives all of it at once */
    raw_close(fd);
    text[got > 0 ? got : 0] = '\0';
    return got;
}

long procfs_text(const char *root, uint32_t pid, const char *name, char *text, size_t room)
{
    return read_text(root, pid, name, text, room, NULL);
}

uint64_t procfs_began_ns(uint64_t start_ticks)
{
    uint64_t now_ns = clock_read(CLOCK_REALTIME), ago_ns = clock_read(CLOCK_BOOTTIME) - start_ticks * PROCESS_TICK_NS;
    return ago_ns < now_ns ? now_ns - ago_ns : now_ns;
}

int procfs_look(const char *root, uint32_t pid, struct process_look *look)
{
    char text[1024];
    long length = read_text(root, pid, "stat", text, sizeof text, NULL);
    if (length < 0)
        return (int)length;
    const char *open = strchr(text, '('), *at = strrchr(text, ')'); /* whatever the program is called */
    if (open == NULL || at == NULL || at < open)
        return -ENOENT;
    uint64_t fields[STAT_FIELDS] = { 0 };
    char state = '\0';
    for (int field = STATE; field < STAT_FIELDS && at != NULL; field++) {
        at = strchr(at, ' ');
        if (at == NULL)
            return -ENOENT;
        at++;
        if (field == STATE)
            state = *at;
        else
            fields[field] = strtoull(at, NULL, 10);
    }
    *look = (struct process_look){
        .parent = (uint32_t)fields[PARENT],
        .session = (uint32_t)fields[SESSION],
        .threads = (uint32_t)fields[THREADS],
        .start_ticks = fields[START],
        .cpu_ns = (fields[USER_TIME] + fields[SYSTEM_TIME]) * PROCESS_TICK_NS,
        .is_kernels = (fields[FLAGS] & KERNEL_THREAD_FLAG) != 0,
        .has_ended = state == 'Z' || state == 'X',
        .is_waiting = state == 'D',
        .has_reaped = fields[CHILDREN_MINOR_FAULTS] + fields[CHILDREN_MAJOR_FAULTS] > 0,
    };
    size_t name_length = strrchr(text, ')') - open - 1;
    name_length = name_length < sizeof look->name - 1 ? name_length : sizeof look->name - 1;
    memcpy(look->name, open + 1, name_length);
    return 0;
}

static int counts_of(const char *text, long length, uint64_t counts[KERNEL_COUNTS])
{
    const char *at = text;
    for (int i = 0; i < COUNT_CPU && length > 0; i++) {
        at = strchr(at, ':');
        if (at == NULL)
            return -ENOENT;
        counts[i] = strtoull(++at, NULL, 10);
    }
    return length > 0 ? 0 : length < 0 ? (int)length : -ENOENT;
}

static int read_counts(const char *root, uint32_t pid, const char *name, uint64_t counts[KERNEL_COUNTS])
{
    char text[512];
    return counts_of(text, read_text(root, pid, name, text, sizeof text, NULL), counts);
}

int procfs_owned_counts(const char *root, uint32_t pid, uint64_t counts[KERNEL_COUNTS], uint32_t *owner, uint64_t *inode)
{
    char text[512];
    struct stat status = { 0 };
    long got = read_text(root, pid, "io", text, sizeof text, &status);
    *owner = status.st_uid;
    *inode = status.st_ino;
    return counts_of(text, got, counts);
}

int procfs_counts(const char *root, uint32_t pid, uint64_t counts[KERNEL_COUNTS])
{
    return read_counts(root, pid, "io", counts);
}

/* The numbers that a directory names, in the kernel's order, which is a rising one, from an offset in the directory on. Returns how many, at most
 * `most`, or -errno. */
static long list_numbers(const char *path, long offset, uint32_t *numbers, size_t most)
{
    static char entries[32 << 10] __attribute__((aligned(8)));
    size_t room = ENTRY_BYTES * (most + 2); /* no more than are asked for: the kernel makes each of them */
    int fd = raw_open(path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    size_t used = 0;
    long bytes = offset > 0 ? lseek(fd, offset, SEEK_SET) : 1;
    while (bytes > 0 && used < most && (bytes = raw_result(syscall(SYS_getdents64, fd, entries, room < sizeof entries ? room : sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *name = ((const struct dirent64 *)(entries + at))->d_name;
            if (isdigit((unsigned char)name[0]) && used < most)
                numbers[used++] = (uint32_t)strtoul(name, NULL, 10);
        }
    raw_close(fd);
    return bytes < 0 ? bytes : (long)used;
}

long procfs_threads(const char *root, uint32_t pid, uint32_t *threads, size_t most)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc/%u/task", root, pid);
    return list_numbers(path, 0, threads, most);
}

long procfs_descriptors(const char *root, uint32_t pid, uint32_t from, uint32_t *descriptors, size_t most)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc/%u/fd", root, pid);
    return list_numbers(path, from > 0 ? (long)from + DOTS : 0, descriptors, most);
}

/* "0 0x3 0x7f... ...": a number and six arguments, the stack and the place. "-1 ...": it is in no call. "running": it does not wait any more. */
long procfs_call(const char *root, uint32_t thread, uint64_t arguments[6])
{
    char text[512], *at;
    long length = read_text(root, thread, "syscall", text, sizeof text, NULL), number;
    if (length < 0)
        return length;
    number = strtol(text, &at, 10);
    if (at == text)
        return -EAGAIN;
    if (number < 0)
        return -1;
    for (int i = 0; i < 6; i++)
        arguments[i] = strtoull(at, &at, 16);
    return number;
}

void procfs_place(const char *root, uint32_t thread, char *place, size_t room)
{
    if (read_text(root, thread, "wchan", place, room, NULL) <= 0 || strcmp(place, "0") == 0)
        place[0] = '\0';
    place[strcspn(place, ".\n")] = '\0'; /* without what a compiler adds to the names of parts of a function */
}

int procfs_counts_of_thread(const char *root, uint32_t pid, uint32_t thread, uint64_t counts[KERNEL_COUNTS])
{
    char name[64];
    snprintf(name, sizeof name, "task/%u/io", thread);
    return read_counts(root, pid, name, counts);
}

int procfs_thread_counts(const char *root, uint32_t pid, uint64_t counts[KERNEL_COUNTS])
{
    static uint32_t threads[THREADS_LOOKED_AT + 1];
    long count = procfs_threads(root, pid, threads, THREADS_LOOKED_AT + 1);
    if (count <= 0 || count > THREADS_LOOKED_AT)
        return count < 0 ? (int)count : count == 0 ? -ENOENT : -E2BIG;
    memset(counts, 0, COUNT_CPU * sizeof *counts);
    bool is_any = false;
    for (long i = 0; i < count; i++) {
        uint64_t own[KERNEL_COUNTS];
        int wrong = procfs_counts_of_thread(root, pid, threads[i], own);
        if (wrong == -EACCES || wrong == -EPERM)
            return wrong;
        for (int j = 0; j < COUNT_CPU && wrong == 0; j++)
            counts[j] += own[j];
        is_any |= wrong == 0;
    }
    return is_any ? 0 : -ENOENT;
}

int procfs_program(const char *root, uint32_t pid, char path[PROCESS_NAME_BYTES])
{
    char link[512], full[4096];
    snprintf(link, sizeof link, "%s/proc/%u/exe", root, pid);
    long length = raw_readlink(link, full, sizeof full - 1);
    if (length < 0)
        return (int)length;
    full[length] = '\0';
    size_t skipped = (size_t)length < PROCESS_NAME_BYTES ? 0 : (size_t)length - (PROCESS_NAME_BYTES - 1);
    snprintf(path, PROCESS_NAME_BYTES, "%s", full + skipped);
    return 0;
}

/* What is behind a name in the process's status; empty: nothing. */
static const char *status_line(const char *root, uint32_t pid, const char *name, char text[STATUS_BYTES])
{
    const char *at = read_text(root, pid, "status", text, STATUS_BYTES, NULL) > 0 ? strstr(text, name) : NULL;
    return at != NULL ? at + strlen(name) : "";
}

uint32_t procfs_inner_pid(const char *root, uint32_t pid)
{
    char text[STATUS_BYTES];
    uint32_t number = 0;
    for (const char *at = status_line(root, pid, "\nNSpid:", text); *at == '\t';) {
        char *end;
        number = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    return number;
}

uint64_t procfs_pid_namespace(const char *root, uint32_t pid)
{
    char path[512];
    struct stat status;
    snprintf(path, sizeof path, "%s/proc/%u/ns/pid", root, pid);
    return stat(path, &status) == 0 ? status.st_ino : 0;
}

uint32_t procfs_user(const char *root, uint32_t pid)
{
    char text[STATUS_BYTES];
    return (uint32_t)strtoul(status_line(root, pid, "\nUid:", text), NULL, 10);
}

bool procfs_is_in_cgroup(const char *root, uint32_t pid, const char *cgroup)
{
    char text[4096];
    size_t length = strlen(cgroup);
    if (length == 0 || read_text(root, pid, "cgroup", text, sizeof text, NULL) <= 0)
        return false;
    for (const char *at = text; (at = strstr(at, cgroup)) != NULL; at++)
        if (at > text && at[-1] == ':' && (at[length] == '/' || at[length] == '\n' || at[length] == '\0'))
            return true;
    return false;
}

/* As schedulers name a job's control group: Slurm's "job_4711", LSF's "job.4711.1.2", PBS's "4711.server" and no plain number. */
static bool names_job(const char *part, size_t length, const char *job)
{
    size_t job_length = strlen(job);
    bool is_prefixed = length > 4 && (memcmp(part, "job_", 4) == 0 || memcmp(part, "job.", 4) == 0);
    bool is_number = strspn(job, "0123456789") == job_length;
    const char *named = is_prefixed ? part + 4 : part;
    size_t named_length = is_prefixed ? length - 4 : length;
    if (job_length == 0 || named_length < job_length || memcmp(named, job, job_length) != 0 || (is_number && !is_prefixed))
        return false;
    return named_length == job_length || (is_prefixed && part[3] == '.' && named[job_length] == '.');
}

/* How much of a path there is up to the part that is named after the job; 0: none is. */
static size_t length_to_job(const char *path, const char *job)
{
    for (const char *part = path; *part == '/';) {
        size_t length = strcspn(part + 1, "/");
        if (names_job(part + 1, length, job))
            return (size_t)(part + 1 + length - path);
        part += 1 + length;
    }
    return 0;
}

void procfs_cgroup_of_job(const char *root, const char *job, bool is_unified, char *cgroup, size_t room)
{
    char text[4096], path[512];
    cgroup[0] = '\0';
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (raw_read_file(path, text, sizeof text) <= 0)
        return;
    for (char *line = strtok(text, "\n"); line != NULL && cgroup[0] == '\0'; line = strtok(NULL, "\n")) {
        const char *begin = strchr(line, ':') != NULL ? strchr(strchr(line, ':') + 1, ':') : NULL;
        begin = begin != NULL && (!is_unified || strncmp(line, "0::", 3) == 0) ? begin + 1 : "";
        size_t length = job != NULL ? length_to_job(begin, job) : strlen(begin);
        if (length > 0 && length < room)
            snprintf(cgroup, room, "%.*s", (int)length, begin);
    }
}

int procfs_by_pid(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

void *procfs_find(const uint32_t *pid, const void *table, size_t used, size_t row_bytes)
{
    return used > 0 ? bsearch(pid, table, used, row_bytes, procfs_by_pid) : NULL;
}

long procfs_list(const char *root, uint32_t *pids, size_t most)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc", root);
    long count = list_numbers(path, 0, pids, most);
    bool is_rising = true;
    for (long i = 1; i < count; i++)
        is_rising = is_rising && pids[i - 1] < pids[i];
    if (!is_rising)
        qsort(pids, (size_t)count, sizeof *pids, procfs_by_pid);
    return count;
}
