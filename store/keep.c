#include "keep.h"

#include "clock.h"
#include "job_page.h"
#include "kernel.h"
#include "raw.h"
#include "segment_dir.h"

#include <dirent.h>
#include <string.h>

#define LITTLE_NS (NS_PER_SECOND / 10)
#define OLD_NS (KEPT_DAYS * 86400ull * NS_PER_SECOND)
#define SECTOR_BYTES 512

bool keep_is_worth(const struct segment *segment)
{
    uint64_t ns = 0, file_bytes = 0, other_bytes = 0, kernel_bytes = segment->kernel_bytes[KIND_read] + segment->kernel_bytes[KIND_write];
    for (uint32_t i = 0; i < TOTALS_MAX; i++) {
        const struct total *total = &segment->totals[i];
        bool is_file = i == TOTALS_MAX - 1 || segment->mounts[i][mounts_object] == OBJECT_file; /* the last one is that of several mounts */
        *(is_file ? &file_bytes : &other_bytes) += total->bytes[KIND_read] + total->bytes[KIND_write];
        for (int kind = 0; kind < TOTAL_KINDS; kind++)
            ns += total->ns[kind];
    }
    return file_bytes > 0 || ns >= LITTLE_NS || kernel_bytes > other_bytes + KERNEL_LITTLE_BYTES || segment->unprofiled_used > 0 ||
           segment->process_row[processes_ranks] > 0;
}

static bool look(int dir, const char *name, struct statx *status)
{
    return syscall(SYS_statx, dir, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, status) == 0 && S_ISREG(status->stx_mode);
}

static uint64_t changed_ns(const struct statx *status)
{
    return (uint64_t)status->stx_ctime.tv_sec * NS_PER_SECOND + status->stx_ctime.tv_nsec;
}

static bool is_old(const struct statx *status, uint64_t now_ns)
{
    return changed_ns(status) + OLD_NS < now_ns;
}

/* A segment's name is JOB.PID.N, and a job's may have dots in it. */
static size_t job_bytes(const char *name)
{
    size_t bytes = strlen(name);
    for (int parts = 0; parts < 2; parts++)
        while (bytes > 0 && name[--bytes] != '.')
            ;
    return bytes;
}

static bool is_of_job(const char *name, const char *job, size_t bytes)
{
    return job_bytes(name) == bytes && memcmp(name, job, bytes) == 0;
}

static void add(struct kept *kept, const struct statx *status)
{
    kept->segments++;
    kept->bytes += status->stx_blocks * SECTOR_BYTES;
}

/* What is marked in a directory: all of it is the user's. The descriptor may be somebody's who is in the midst of reading the directory. */
static void count(int dir, const char *name, uint64_t now_ns, struct kept *of_job, struct kept *of_user)
{
    char entries[2048] __attribute__((aligned(8)));
    size_t bytes_of_job = job_bytes(name);
    int all = raw_open_at(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    long bytes;
    while (all >= 0 && (bytes = raw_result(syscall(SYS_getdents64, all, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *other = ((const struct dirent64 *)(entries + at))->d_name;
            struct statx status;
            if (other[0] == '.' || !look(all, other, &status) || (status.stx_mode & KEPT_MODE) == 0)
                continue;
            if (is_old(&status, now_ns)) {
                raw_unlink_at(all, other);
                continue;
            }
            add(of_user, &status);
            if (is_of_job(other, name, bytes_of_job))
                add(of_job, &status);
        }
    if (all >= 0)
        raw_close(all);
}

bool keep_segment(int dir, const char *name, const struct segment *segment, bool may_drop)
{
    struct statx status;
    if (may_drop && !keep_is_worth(segment)) {
        raw_unlink_at(dir, name);
        return false;
    }
    if (look(dir, name, &status) && (status.stx_mode & KEPT_MODE) == 0)
        syscall(SYS_fchmodat, dir, name, (status.stx_mode & 0777) | KEPT_MODE);
    if (!may_drop || !look(dir, name, &status))
        return true;
    /* Now is when this one was marked, by the file system's own clock: the process's may be a false one. */
    struct kept of_job = { 0 }, of_user = { 0 };
    count(dir, name, changed_ns(&status), &of_job, &of_user);
    if (of_job.segments <= KEPT_OF_JOB && of_job.bytes <= KEPT_OF_JOB_BYTES && of_user.segments <= KEPT_OF_USER &&
        of_user.bytes <= KEPT_OF_USER_BYTES)
        return true;
    raw_unlink_at(dir, name);
    char job[JOB_NAME_BYTES];
    size_t bytes = job_bytes(name);
    if (bytes < sizeof job) {
        memcpy(job, name, bytes);
        job[bytes] = '\0';
        job_page_note_in(dir, job, JOB_NOTE_dropped);
    }
    return false;
}

bool keep_own_segment(const struct segment_home *home)
{
    char parent[sizeof home->path];
    const char *slash = strrchr(home->path, '/');
    if (slash == NULL)
        return true;
    memcpy(parent, home->path, sizeof parent);
    parent[slash - home->path] = '\0';
    int dir = segment_dir_open(AT_FDCWD, parent);
    bool stays = dir < 0 || keep_segment(dir, slash + 1, home->segment, true);
    if (dir >= 0)
        raw_close(dir);
    return stays;
}

void keep_count(int dir, const char *path, void *argument)
{
    struct statx status;
    struct staying *staying = argument;
    if (!look(dir, strrchr(path, '/') + 1, &status) || (status.stx_mode & KEPT_MODE) == 0)
        return;
    if (staying->kept.segments == 0 || changed_ns(&status) < staying->since_ns)
        staying->since_ns = changed_ns(&status);
    add(&staying->kept, &status);
}

bool keep_is_page(const char *name)
{
    return strncmp(name, JOB_PAGE_NAME, sizeof JOB_PAGE_NAME - 1) == 0;
}

void keep_remove_old(int dir, const char *path, void *argument)
{
    struct statx status;
    struct removal *removal = argument;
    const char *name = strrchr(path, '/') + 1;
    bool is_page = keep_is_page(name);
    if (!look(dir, name, &status) || (!is_page && (status.stx_mode & KEPT_MODE) == 0) || !is_old(&status, removal->now_ns))
        return;
    if (raw_unlink_at(dir, name) == 0 && !is_page)
        add(&removal->removed, &status);
}

bool keep_has_segments(int dir, const char *job)
{
    char entries[2048] __attribute__((aligned(8)));
    int all = raw_open_at(dir, ".", O_RDONLY | O_DIRECTORY, 0);
    bool has_any = false;
    long bytes;
    while (all >= 0 && !has_any && (bytes = raw_result(syscall(SYS_getdents64, all, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes && !has_any; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *name = ((const struct dirent64 *)(entries + at))->d_name;
            has_any = name[0] != '.' && is_of_job(name, job, strlen(job));
        }
    if (all >= 0)
        raw_close(all);
    return has_any;
}
