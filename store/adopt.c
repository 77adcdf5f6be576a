#include "adopt.h"

#include "clock.h"
#include "format.h"
#include "keep.h"
#include "raw.h"
#include "record.h"
#include "sections.h"
#include "segment_dir.h"
#include "spool.h"
#include "text.h"
#include "unfinished.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu /* the one in which every process is to be seen (PROC_PID_INIT_INO) */
#define CLOCK_TICK_NS (NS_PER_SECOND / 100) /* USER_HZ */
enum { STAT_START_FIELD = 22 };

uint64_t adopt_pid_namespace(void)
{
    static const char before[] = "pid:[";
    char link[40] = ""; /* to read it costs a quarter of a look at what it leads to, for which the kernel makes an inode */
    long length = raw_readlink("/proc/self/ns/pid", link, sizeof link - 1);
    return length > (long)sizeof before && strncmp(link, before, sizeof before - 1) == 0 ? text_number(link + sizeof before - 1) : 0;
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

/* The last of a process's numbers, which is that in its own pid namespace, and in `levels` how many it has, from the namespace of /proc on. */
static uint32_t number_within(const char *pid, unsigned *levels)
{
    static char text[8192];
    char path[64];
    uint32_t number = 0;
    snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    const char *at = raw_read_file(path, text, sizeof text) > 0 ? strstr(text, "\nNSpid:") : NULL;
    *levels = 0;
    for (at = at != NULL ? at + strlen("\nNSpid:") : ""; *at == '\t'; (*levels)++) {
        char *end;
        number = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    return number;
}

/* Whether /proc has the numbers by which we know processes: it may be that of another pid namespace, or not be there. */
static bool is_proc_of_our_numbers(void)
{
    unsigned levels;
    return number_within("self", &levels) == (uint32_t)raw_getpid() && levels == 1;
}

enum holding { HOLDS_NOT, HOLDS, HOLDS_PERHAPS };

/* Whether a process maps the file: one that took the number after ours, or the program that took our program's place, does not. */
static enum holding maps_file(const char *pid, const char *names)
{
    static char chunk[8192 + 1]; /* not on the stack: a program starts on whatever stack it has */
    char maps[64];
    snprintf(maps, sizeof maps, "/proc/%.20s/maps", pid);
    int fd = raw_open(maps, O_RDONLY, 0);
    if (fd < 0)
        return fd == -ENOENT || fd == -ESRCH ? HOLDS_NOT : HOLDS_PERHAPS;
    size_t kept = 0;
    bool is_found = false;
    long got;
    while (!is_found && (got = raw_read(fd, chunk + kept, sizeof chunk - 1 - kept)) > 0) {
        size_t filled = kept + (size_t)got;
        chunk[filled] = '\0';
        is_found = strstr(chunk, names) != NULL;
        kept = filled < 1024 ? filled : 1024;
        memmove(chunk, chunk + filled - kept, kept);
    }
    raw_close(fd);
    return is_found ? HOLDS : got < 0 && got != -ESRCH ? HOLDS_PERHAPS : HOLDS_NOT;
}

/* When a process began, in CLOCK_BOOTTIME; 0: it cannot be told. */
static uint64_t began_ns(uint32_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (raw_read_file(path, text, sizeof text) <= 0)
        return 0;
    const char *at = strrchr(text, ')'); /* the second field, whatever the program is called */
    for (int field = 2; at != NULL && field < STAT_START_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) * CLOCK_TICK_NS : 0;
}

static bool is_of_this_boot(const struct segment *segment)
{
    char now[sizeof segment->boot_id];
    if (segment->boot_id[0] == '\0') /* in memory: it does not outlive one */
        return true;
    segment_boot_id(now);
    return memcmp(now, segment->boot_id, sizeof now) == 0;
}

static bool is_alive(const struct segment *segment, const char *names)
{
    if (!is_of_this_boot(segment))
        return false;
    if (segment->pid == (uint32_t)raw_getpid()) /* the program that was here before us, and that we map at this moment */
        return atomic_load(&segment->state) != SEGMENT_LEAVING;
    if (raw_result(syscall(SYS_kill, segment->pid, 0)) == -ESRCH)
        return false;
    if (!is_proc_of_our_numbers())
        return true;
    char pid[16];
    snprintf(pid, sizeof pid, "%u", segment->pid);
    enum holding holding = maps_file(pid, names);
    return holding == HOLDS || (holding == HOLDS_PERHAPS && began_ns(segment->pid) <= segment->created_ns);
}

/* A process of another pid namespace is looked for among all that there are; where not all can be seen, nothing is known of it. */
static enum holding who_holds_elsewhere(const struct segment *segment, const char *names)
{
    static char entries[4096] __attribute__((aligned(8)));
    bool sees_all = adopt_pid_namespace() == INITIAL_PID_NAMESPACE && is_proc_of_our_numbers();
    int proc = sees_all ? raw_open("/proc", O_RDONLY | O_DIRECTORY, 0) : -1;
    if (proc < 0)
        return HOLDS_PERHAPS;
    enum holding holding = HOLDS_NOT;
    long bytes;
    while (holding != HOLDS && (bytes = raw_result(syscall(SYS_getdents64, proc, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes && holding != HOLDS; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *pid = ((const struct dirent64 *)(entries + at))->d_name;
            struct statx status;
            unsigned levels;
            /* Somebody else than root cannot have opened a file of ours. */
            if (pid[0] < '1' || pid[0] > '9' || raw_statx(proc, pid, 0, &status) < 0 || (status.stx_uid != raw_geteuid() && status.stx_uid != 0))
                continue;
            bool is_its_number = number_within(pid, &levels) == segment->pid;
            if (levels > 0 && (!is_its_number || (levels == 1 && segment->pid_namespace != 0)))
                continue;
            enum holding found = maps_file(pid, names);
            holding = found != HOLDS_NOT ? found : holding;
        }
    raw_close(proc);
    return holding;
}

bool adopt_is_of_this_build(const struct segment *segment)
{
    return memcmp(segment->magic, SEGMENT_MAGIC, sizeof segment->magic) == 0 &&
           strncmp(segment->version, SLICEWISE_VERSION, sizeof segment->version) == 0 && segment->layout == segment_layout();
}

/* Names end where their room ends, whatever a dying process left there. */
static bool has_whole_names(const struct segment *segment)
{
    for (uint32_t row = 1; row < segment->files_used && row < FILES_MAX; row++)
        if (segment->files.names[FILES_MAX - row][FILE_NAME_BYTES - 1] != '\0')
            return false;
    return true;
}

static bool has_whole_regions(const struct segment *segment)
{
    const struct regions *regions = &segment->regions;
    if (segment->has_regions == 0)
        return true;
    for (uint32_t i = 0; i < regions->used && i < REGIONS_MAX; i++)
        if (memchr(regions->open[i].name, '\0', REGION_NAME_BYTES) == NULL)
            return false;
    return regions->used <= REGIONS_MAX && regions->names_used <= REGION_NAMES_MAX && regions->ledger.used <= REGION_ROWS_MAX;
}

bool adopt_is_sound(const struct segment *segment)
{
    union commit commit = { .word = atomic_load(&segment->commit) };
    return segment->mounts_used <= MOUNTS_MAX && segment->mounts_packed <= segment->mounts_used && segment->files_used <= FILES_MAX &&
           segment->text_used <= TEXT_BYTES && segment->lanes_used <= LANES_MAX && segment->unprofiled_used <= UNPROFILED_MAX &&
           commit.records <= RECORDS_MAX && commit.frame_bytes <= FRAMES_BYTES &&
           memchr(segment->spool_dir, '\0', sizeof segment->spool_dir) != NULL && segment->text[TEXT_BYTES - 1] == '\0' && has_whole_names(segment) &&
           has_whole_regions(segment) && segment->process_row[processes_slice_ns] != 0;
}

/* The moment of an exec is known; that of a death is at most the end of the slice in which the process last counted. */
static uint64_t last_moment(const struct segment *segment)
{
    uint64_t slice_ns = segment->process_row[processes_slice_ns], now = clock_read(CLOCK_REALTIME), end = segment->last_call_ns;
    bool has_left = atomic_load(&segment->state) == SEGMENT_LEAVING;
    uint64_t under_way_ns = has_left ? 0 : unfinished_last_ns(segment);
    end = under_way_ns > end && under_way_ns <= now ? under_way_ns : end;
    for (uint32_t i = 0; i < segment->lanes_used && !has_left; i++) {
        const struct lane *lane = (const struct lane *)segment->lanes[i];
        uint64_t slice_end = (lane->slice + 1) * slice_ns;
        if ((lane->cells_used > 0 || lane_has_communicated(lane)) && slice_end > end)
            end = slice_end < now ? slice_end : now;
    }
    return end > segment->process_row[processes_start_ns] ? end : segment->process_row[processes_start_ns];
}

static bool read_part(int fd, struct segment *segment, size_t begin, size_t bytes)
{
    for (size_t at = begin; at < begin + bytes;) {
        long got = raw_read_at(fd, (char *)segment + at, begin + bytes - at, at);
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

/* The same of a file that is mostly holes, of which a copy of zeros has them already. */
static bool read_what_is_there(int fd, struct segment *segment, size_t begin, size_t bytes)
{
    size_t end = begin + bytes;
    for (size_t at = begin; at < end;) {
        long data = raw_result(syscall(SYS_lseek, fd, at, SEEK_DATA));
        if (data == -ENXIO || data >= (long)end)
            return true;
        long hole = data >= 0 ? raw_result(syscall(SYS_lseek, fd, data, SEEK_HOLE)) : data;
        if (hole <= data) /* a file system that cannot tell */
            return read_part(fd, segment, at, end - at);
        size_t until = (size_t)hole < end ? (size_t)hole : end;
        if (!read_part(fd, segment, (size_t)data, until - (size_t)data))
            return false;
        at = until;
    }
    return true;
}

struct segment *adopt_copy(int fd)
{
    struct segment *segment = raw_memory(sizeof *segment);
    if (segment == NULL)
        return NULL;
    /* First the head, whose commit the rest must not be older than; nobody reads more of what cannot be understood than says so. */
    bool is_read = read_part(fd, segment, 0, offsetof(struct segment, process)) && adopt_is_of_this_build(segment) &&
                   read_part(fd, segment, 0, offsetof(struct segment, text)) &&
                   read_what_is_there(fd, segment, offsetof(struct segment, text), SEGMENT_FIXED_BYTES - offsetof(struct segment, text));
    uint32_t lanes = segment->lanes_used < LANES_MAX ? segment->lanes_used : LANES_MAX;
    if (is_read && read_part(fd, segment, SEGMENT_FIXED_BYTES, (size_t)lanes * LANE_BYTES))
        return segment;
    syscall(SYS_munmap, segment, sizeof *segment);
    return NULL;
}

START_DATA bool adopt_may_drop;

/* Whether the process said how it ended, and had no more time or room than for that. */
static bool has_ended_by_itself(const struct segment *segment)
{
    uint64_t ending = segment->process_row[processes_ending];
    return ending == ENDING_exit || ending == ENDING_underscore_exit || ending == ENDING_stood_down;
}

static enum ending ending_of(const struct segment *segment)
{
    if (has_ended_by_itself(segment))
        return (enum ending)segment->process_row[processes_ending];
    return atomic_load(&segment->state) == SEGMENT_LEAVING ? ENDING_exec : ENDING_killed;
}

void adopt_drop_copy(struct segment *copy)
{
    syscall(SYS_munmap, copy, sizeof *copy);
}

/* The copy is finished, and not what others can see: dying here leaves the segment as it was, and whoever comes next writes the very same
 * frames once more, which readers take once. */
static void finish(int fd, int dir, const char *name, const char *names, struct segment_home *home, struct adoption_result *result)
{
    struct segment *segment = home->segment;
    uint32_t state = atomic_load(&segment->state);
    if (state != SEGMENT_BEGINNING && !adopt_is_sound(segment))
        return;
    bool is_near = segment->pid_namespace == adopt_pid_namespace();
    enum holding holding = !is_near ? who_holds_elsewhere(segment, names) : is_alive(segment, names) ? HOLDS : HOLDS_NOT;
    if (holding != HOLDS_NOT) {
        result->outcome = holding == HOLDS ? ADOPT_ALIVE : ADOPT_UNSEEN;
        return;
    }
    result->outcome = ADOPTED;
    result->ending = ending_of(segment);
    if (state != SEGMENT_BEGINNING) { /* else it was killed before it could count anything */
        bool was_torn = segment->is_spool_torn != 0;
        if (!is_of_this_boot(segment)) /* devices may have other numbers now */
            segment->anchor = (struct spool_anchor){ 0 };
        spool_path(result->spool, sizeof result->spool, segment);
        uint64_t end_ns = has_ended_by_itself(segment) ? segment->process_row[processes_end_ns] : last_moment(segment);
        result->error = segment_finish(home, result->ending, end_ns, FORMAT_RECOVERED);
        if (result->error != 0)
            result->outcome = ADOPT_FAILED;
        if (result->error != 0 && segment->is_spool_torn != 0 && !was_torn)
            raw_write_at(fd, &segment->is_spool_torn, sizeof segment->is_spool_torn, offsetof(struct segment, is_spool_torn));
        if (result->error != 0 && result->error != -SPOOL_UNASKED && !segment->is_of_node && !keep_segment(dir, name, segment, adopt_may_drop))
            result->outcome = ADOPT_DROPPED;
    }
    if (result->outcome == ADOPTED)
        raw_unlink_at(dir, name);
}

static bool has_same_inode(const char *dir, const char *other)
{
    struct stat one, two;
    return syscall(SYS_newfstatat, AT_FDCWD, dir, &one, 0) == 0 && syscall(SYS_newfstatat, AT_FDCWD, other, &two, 0) == 0 &&
           one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

bool (*adopt_is_same_directory)(const char *dir, const char *other);
bool (*adopt_waits)(void);

/* By name, or, since links and dots give one directory many names, by what is there. */
static bool is_same_directory(const char *spool_dir, const char *other)
{
    if (memchr(spool_dir, '\0', sizeof((struct segment *)0)->spool_dir) == NULL)
        return false;
    return strcmp(spool_dir, other) == 0 || (adopt_is_same_directory != NULL ? adopt_is_same_directory : has_same_inode)(spool_dir, other);
}

int adopt_open(int dir, const char *name, int *fd)
{
    struct stat status, named;
    *fd = raw_open_at(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*fd < 0)
        return ADOPT_FOREIGN;
    while (syscall(SYS_flock, *fd, LOCK_EX | LOCK_NB) != 0)
        if (adopt_waits == NULL || !adopt_waits())
            return ADOPT_BUSY;
    bool is_ours = syscall(SYS_fstat, *fd, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == sizeof(struct segment) &&
                   status.st_uid == raw_geteuid() && syscall(SYS_newfstatat, dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                   named.st_ino == status.st_ino; /* and not finished, and removed, while we waited for nothing */
    return is_ours ? ADOPTED : ADOPT_FOREIGN;
}

/* ending: of the process, where its last program did nothing that counts, and ended at end_ns; else ENDING_running. */
static struct adoption_result adopt_with(int dir, const char *path, const char *only_spool_dir, enum ending ending, uint64_t end_ns)
{
    struct adoption_result result = { .outcome = ADOPT_FOREIGN };
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    int fd;
    int opened = adopt_open(dir, name, &fd);
    if (opened == ADOPT_BUSY)
        result.outcome = ADOPT_BUSY;
    struct segment_home home = { .place = PLACE_private, .segment = opened == ADOPTED ? adopt_copy(fd) : NULL };
    if (home.segment != NULL) {
        if (ending != ENDING_running && atomic_load(&home.segment->state) == SEGMENT_LEAVING) {
            home.segment->process_row[processes_ending] = ending;
            home.segment->process_row[processes_end_ns] = end_ns;
        }
        if (only_spool_dir[0] == '\0' || is_same_directory(home.segment->spool_dir, only_spool_dir))
            finish(fd, dir, name, own_names(path), &home, &result);
        adopt_drop_copy(home.segment);
    }
    if (fd >= 0)
        raw_close(fd);
    return result;
}

struct adoption_result adopt_in(int dir, const char *path, const char *only_spool_dir)
{
    return adopt_with(dir, path, only_spool_dir, ENDING_running, 0);
}

static struct adoption_result adopt_at(const char *path, const char *only_spool_dir, enum ending ending, uint64_t end_ns)
{
    char parent[sizeof((struct segment_home *)0)->path];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1, slash != NULL ? path : ".");
    int dir = raw_open(parent, O_PATH | O_DIRECTORY, 0);
    if (dir < 0)
        return (struct adoption_result){ .outcome = ADOPT_FOREIGN };
    struct adoption_result result = adopt_with(dir, path, only_spool_dir, ending, end_ns);
    raw_close(dir);
    return result;
}

struct adoption_result adopt_segment(const char *path, const char *only_spool_dir)
{
    return adopt_at(path, only_spool_dir, ENDING_running, 0);
}

struct adoption_result adopt_predecessor(const char *path, enum ending ending, uint64_t end_ns)
{
    return adopt_at(path, "", ending, end_ns);
}

int adopt_open_dir(const char *user_dir)
{
    return segment_dir_open(AT_FDCWD, user_dir);
}

static bool is_dot_or_two(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void adopt_each(int dir, const char *user_dir, const char *prefix, void (*visit)(int dir, const char *path, void *argument), void *argument)
{
    char path[sizeof((struct segment_home *)0)->path], entries[2048] __attribute__((aligned(8)));
    long bytes;
    while ((bytes = raw_result(syscall(SYS_getdents64, dir, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *name = ((const struct dirent64 *)(entries + at))->d_name;
            bool is_wanted =
                prefix == NULL ? !is_dot_or_two(name) : (name[0] != '.' || prefix[0] == '.') && strncmp(name, prefix, strlen(prefix)) == 0;
            if (!is_wanted)
                continue;
            snprintf(path, sizeof path, "%s/%s", user_dir, name);
            visit(dir, path, argument);
        }
}

void adopt_each_dir(const char *dir, void (*visit)(int fd, const char *user_dir, void *argument), void *argument)
{
    char user_dir[256], entries[2048] __attribute__((aligned(8)));
    const uint32_t user = raw_geteuid();
    int all = raw_open(dir, O_RDONLY | O_DIRECTORY, 0);
    long bytes;
    while (all >= 0 && (bytes = raw_result(syscall(SYS_getdents64, all, entries, sizeof entries))) > 0)
        for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
            const char *name = ((const struct dirent64 *)(entries + at))->d_name;
            struct statx status;
            /* A node may have a directory of each of a thousand users: theirs cost a look, and are not opened. */
            bool is_own = segment_is_user_dir(name) && strlen(dir) + strlen(name) + 2 <= sizeof user_dir &&
                          raw_statx(all, name, AT_SYMLINK_NOFOLLOW, &status) == 0 && status.stx_uid == user;
            int fd = is_own ? segment_dir_open(all, name) : -ENOENT;
            if (fd < 0)
                continue;
            snprintf(user_dir, sizeof user_dir, "%s/%s", dir, name);
            visit(fd, user_dir, argument);
            raw_close(fd);
        }
    if (all >= 0)
        raw_close(all);
}

bool adopt_is_promised(uint64_t collector_until_ns)
{
    return collector_until_ns != 0 && clock_read(CLOCK_MONOTONIC) < collector_until_ns;
}

static bool is_left_to_collector(int dir, const char *name)
{
    uint64_t until_ns = 0;
    int fd = raw_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    raw_read_at(fd, &until_ns, sizeof until_ns, offsetof(struct segment, collector_until_ns));
    raw_close(fd);
    return adopt_is_promised(until_ns);
}

void adopt_gone(const char *dir, const char *prefix)
{
    static char path[sizeof((struct segment_home *)0)->path];
    char user_dir[256], entries[2048] __attribute__((aligned(8))); /* a glance, and no more */
    int fd = -EPERM;
    for (unsigned number = 0; fd == -EPERM && number < USER_DIRS; number++) { /* as segments are made */
        segment_user_dir(user_dir, sizeof user_dir, dir, raw_geteuid(), number);
        fd = adopt_open_dir(user_dir);
        fd = fd == -EACCES ? -EPERM : fd;
    }
    if (fd < 0)
        return;
    long bytes = raw_result(syscall(SYS_getdents64, fd, entries, sizeof entries));
    for (long at = 0; at < bytes; at += ((struct dirent64 *)(entries + at))->d_reclen) {
        const char *name = ((const struct dirent64 *)(entries + at))->d_name;
        long pid = strncmp(name, prefix, strlen(prefix)) == 0 ? strtol(name + strlen(prefix), NULL, 10) : 0;
        if (pid <= 0 || raw_result(syscall(SYS_kill, pid, 0)) != -ESRCH || is_left_to_collector(fd, name))
            continue;
        snprintf(path, sizeof path, "%s/%s", user_dir, name);
        adopt_in(fd, path, "");
    }
    raw_close(fd);
}

struct adoption_of_all {
    const char *prefix, *only_spool_dir;
    void (*done)(const char *path, const struct adoption_result *result, void *argument);
    void *argument;
};

static void adopt_one_of_all(int dir, const char *path, void *argument)
{
    const struct adoption_of_all *all = argument;
    struct adoption_result result = adopt_in(dir, path, all->only_spool_dir);
    if (all->done != NULL)
        all->done(path, &result, all->argument);
}

static void adopt_all_in(int fd, const char *user_dir, void *argument)
{
    adopt_each(fd, user_dir, ((const struct adoption_of_all *)argument)->prefix, adopt_one_of_all, argument);
}

void adopt_all(const char *dir, const char *prefix, const char *only_spool_dir,
               void (*done)(const char *path, const struct adoption_result *result, void *argument), void *argument)
{
    struct adoption_of_all all = { prefix, only_spool_dir, done, argument };
    adopt_each_dir(dir, adopt_all_in, &all);
}
