#include "adopt.h"

#include "clock.h"
#include "format.h"
#include "raw.h"
#include "record.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

uint64_t adopt_pid_namespace(void)
{
    struct stat status;
    return syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/pid", &status, 0) == 0 ? status.st_ino : 0;
}

/* The last two names of a path: they are ours, while links and dots may lie before them. */
static const char *own_names(const char *path)
{
    const char *at = path + strlen(path);
    for (int slashes = 0; at > path; at--)
        if (at[-1] == '/' && ++slashes == 2)
            break;
    return at;
}

/* Whether process `pid` maps the file: a process that took the number after ours, or the program that took our program's place, does not. */
static bool maps_file(uint32_t pid, const char *path)
{
    static char chunk[8192 + 1]; /* not on the stack: a program starts on whatever stack it has */
    char maps[64];
    snprintf(maps, sizeof maps, "/proc/%u/maps", pid);
    int fd = raw_open(maps, O_RDONLY, 0);
    if (fd < 0)
        return fd != -ENOENT && fd != -ESRCH; /* cannot be told: leave it alone */
    size_t kept = 0;
    bool is_found = false;
    long got;
    while (!is_found && (got = raw_read(fd, chunk + kept, sizeof chunk - 1 - kept)) > 0) {
        size_t filled = kept + (size_t)got;
        chunk[filled] = '\0';
        is_found = strstr(chunk, path) != NULL;
        kept = filled < 1024 ? filled : 1024;
        memmove(chunk, chunk + filled - kept, kept);
    }
    raw_close(fd);
    return is_found;
}

static bool is_alive(const struct segment *segment, const char *path)
{
    if (segment->pid == (uint32_t)raw_getpid()) /* the program that was here before us, and that we map at this moment */
        return atomic_load(&segment->state) != SEGMENT_LEAVING;
    if (raw_result(syscall(SYS_kill, segment->pid, 0)) == -ESRCH)
        return false;
    return maps_file(segment->pid, own_names(path));
}

static bool is_of_this_build(const struct segment *segment)
{
    return memcmp(segment->magic, SEGMENT_MAGIC, sizeof segment->magic) == 0 &&
           strncmp(segment->version, SLICEWISE_VERSION, sizeof segment->version) == 0 && segment->layout == segment_layout();
}

/* Everything that is used as an index or a length is within its bounds. */
static bool is_sound(const struct segment *segment)
{
    union commit commit = { .word = atomic_load(&segment->commit) };
    return segment->mounts_used <= MOUNTS_MAX && segment->mounts_packed <= segment->mounts_used && segment->files_used <= FILES_MAX &&
           segment->text_used <= TEXT_BYTES && segment->lanes_used <= LANES_MAX && segment->unprofiled_used <= UNPROFILED_MAX && commit.records <= RECORDS_MAX &&
           commit.frame_bytes <= FRAMES_BYTES && memchr(segment->spool_dir, '\0', sizeof segment->spool_dir) != NULL &&
           segment->text[TEXT_BYTES - 1] == '\0' && segment->process_row[processes_slice_ns] != 0;
}

static uint64_t last_moment(const struct segment *segment)
{
    uint64_t slice_ns = segment->process_row[processes_slice_ns], now = clock_read(CLOCK_REALTIME), end = segment->last_call_ns;
    for (uint32_t i = 0; i < segment->lanes_used; i++) {
        const struct lane *lane = (const struct lane *)segment->lanes[i];
        uint64_t slice_end = (lane->slice + 1) * slice_ns;
        if (lane->cells_used > 0 && slice_end > end)
            end = slice_end < now ? slice_end : now;
    }
    return end > segment->process_row[processes_start_ns] ? end : segment->process_row[processes_start_ns];
}

static void finish(struct segment_home *home, struct adoption_result *result)
{
    struct segment *segment = home->segment;
    bool is_begun = atomic_load(&segment->state) != SEGMENT_BEGINNING;
    if (!is_of_this_build(segment) || (is_begun && !is_sound(segment)) ||
        (segment->pid_namespace != 0 && segment->pid_namespace != adopt_pid_namespace())) {
        result->outcome = ADOPT_FOREIGN;
        return;
    }
    if (is_alive(segment, home->path)) {
        result->outcome = ADOPT_ALIVE;
        return;
    }
    if (!is_begun) { /* killed before it could count anything */
        result->outcome = ADOPTED;
        raw_unlink(home->path);
        return;
    }
    spool_path(result->spool, sizeof result->spool, segment);
    bool is_replaced = atomic_load(&segment->state) == SEGMENT_LEAVING;
    result->error = segment_finish(home, is_replaced ? ENDING_exec : ENDING_killed, last_moment(segment), FORMAT_RECOVERED);
    result->outcome = result->error == 0 ? ADOPTED : ADOPT_FAILED;
    if (result->error == 0) {
        atomic_store(&segment->state, SEGMENT_DONE);
        raw_unlink(home->path);
    }
}

/* By name, or, since links and dots give one directory many names, by what is there. */
static bool is_same_directory(const char *spool_dir, const char *other)
{
    struct stat one, two;
    if (memchr(spool_dir, '\0', sizeof ((struct segment *)0)->spool_dir) == NULL)
        return false;
    return strcmp(spool_dir, other) == 0 ||
           (syscall(SYS_newfstatat, AT_FDCWD, spool_dir, &one, 0) == 0 && syscall(SYS_newfstatat, AT_FDCWD, other, &two, 0) == 0 &&
            one.st_dev == two.st_dev && one.st_ino == two.st_ino);
}

struct adoption_result adopt_segment(const char *path, const char *only_spool_dir)
{
    struct adoption_result result = { .outcome = ADOPT_FOREIGN };
    struct segment_home home = { .place = PLACE_shm };
    snprintf(home.path, sizeof home.path, "%s", path);
    int fd = raw_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return result;
    struct stat status, named;
    if (syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) != 0) {
        result.outcome = ADOPT_BUSY;
    } else if (syscall(SYS_fstat, fd, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == sizeof(struct segment) &&
               syscall(SYS_newfstatat, AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == status.st_ino) {
        home.segment = (struct segment *)syscall(SYS_mmap, NULL, sizeof(struct segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (home.segment != MAP_FAILED) {
            if (only_spool_dir[0] == '\0' || is_same_directory(home.segment->spool_dir, only_spool_dir))
                finish(&home, &result);
            segment_unmap(&home);
        }
    }
    raw_close(fd);
    return result;
}

void adopt_all(const char *dir, const char *prefix, const char *only_spool_dir,
               void (*done)(const char *path, const struct adoption_result *result, void *argument), void *argument)
{
    char user_dir[256], path[sizeof ((struct segment_home *)0)->path];
    static char entries[8192] __attribute__((aligned(8)));
    segment_user_dir(user_dir, sizeof user_dir, dir, geteuid());
    if (!segment_dir_is_private(user_dir)) /* what lies there may be anybody's */
        return;
    int fd = raw_open(user_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    long bytes;
    while ((bytes = raw_result(syscall(SYS_getdents64, fd, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *name = ((const struct dirent64 *)(entries + at))->d_name;
            if (name[0] == '.' || strncmp(name, prefix, strlen(prefix)) != 0)
                continue;
            snprintf(path, sizeof path, "%s/%s", user_dir, name);
            struct adoption_result result = adopt_segment(path, only_spool_dir);
            if (done != NULL)
                done(path, &result, argument);
        }
    raw_close(fd);
}
