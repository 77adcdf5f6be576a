#include "record.h"

#include "format.h"
#include "raw.h"
#define WITH_SCHEMA_FRAME
#include "schema_frame.inc"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_WAITS = 10, SCHEMA_WAIT_NS = 20000 };

void spool_path(char *path, size_t room, const struct segment *segment)
{
    snprintf(path, room, "%.*s/%s.swz", (int)sizeof segment->spool_dir, segment->spool_dir,
             segment_text(segment, segment->process_row[processes_host]));
}

/* What stays in the directory that it is looked up in. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strchr(name, '/') == NULL;
}

/* mkdir -p. Returns 0, or why the first directory that was missing could not be made. */
static int make_directories(char *path, unsigned mode)
{
    int wrong = 0;
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        int made = raw_mkdir(path, mode);
        if (made < 0 && made != -EEXIST && wrong == 0)
            wrong = made;
        if (slash == NULL)
            return wrong;
        *slash = '/';
    }
}

/* The directory of all profiles, which may be reached by links: it is where its user said. */
static int open_profiles(char *path, unsigned mode)
{
    const int flags = O_PATH | O_DIRECTORY;
    int fd = raw_open(path, flags, 0);
    if (fd != -ENOENT)
        return fd;
    int wrong = make_directories(path, mode);
    fd = raw_open(path, flags, 0);
    return fd == -ENOENT && wrong < 0 ? wrong : fd;
}

static int open_or_make_dir(int parent, const char *name, unsigned mode, bool is_shared)
{
    int fd = raw_open_at(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd != -ENOENT)
        return fd;
    int made = raw_mkdir_at(parent, name, mode);
    if (made == 0 && is_shared)
        syscall(SYS_fchmodat, parent, name, mode);
    fd = raw_open_at(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd == -ENOENT && made < 0 ? made : fd;
}

/* From there on the names are ours, and no link is followed. */
static int open_spool(const struct segment *segment, bool *is_made)
{
    static char profiles[sizeof segment->spool_dir], file[sizeof segment->spool_dir]; /* not on the stack, which may be a signal handler's small one */
    const bool is_shared = segment->is_group_readable != 0;
    const unsigned dir_mode = is_shared ? 0750 : 0700, mode = is_shared ? 0640 : 0600;
    memcpy(profiles, segment->spool_dir, sizeof profiles - 1);
    char *job = strrchr(profiles, '/');
    const char *host = segment_text(segment, segment->process_row[processes_host]);
    if (profiles[0] == '\0') /* see set_spool_dir() */
        return -ENAMETOOLONG;
    if (profiles[0] != '/' || job == NULL || !is_plain_name(job + 1) || !is_plain_name(host))
        return -EINVAL;
    *job++ = '\0';
    snprintf(file, sizeof file, "%s.swz", host);
    int all = open_profiles(profiles[0] != '\0' ? profiles : (char[]){ "/" }, dir_mode);
    if (all < 0)
        return all;
    int dir = open_or_make_dir(all, job, dir_mode, is_shared);
    raw_close(all);
    if (dir < 0)
        return dir;
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK; /* a pipe in its place must not hold us up */
    int fd = raw_open_at(dir, file, flags, 0);
    if (fd == -ENOENT) {
        fd = raw_open_at(dir, file, flags | O_CREAT | O_EXCL, mode);
        *is_made = fd >= 0;
        if (*is_made && is_shared)
            raw_chmod_fd(fd, mode);
        if (fd == -EEXIST)
            fd = raw_open_at(dir, file, flags, 0);
    }
    struct statx status, parent;
    int wrong = fd < 0 ? 0 : raw_statx(fd, "", AT_EMPTY_PATH, &status);
    if (fd >= 0 && wrong == 0) {
        if (!S_ISREG(status.stx_mode))
            wrong = -EINVAL;
        else if (status.stx_nlink > 1) /* it is some other file as well */
            wrong = -EMLINK;
        else if (status.stx_uid != geteuid() && (raw_statx(dir, "", AT_EMPTY_PATH, &parent) < 0 || status.stx_uid != parent.stx_uid))
            wrong = -EPERM; /* planted, in a directory that anybody may write to */
    }
    raw_close(dir);
    if (wrong == 0)
        return fd;
    raw_close(fd);
    return wrong;
}

/* One write, so that frames of processes that drain at the same time do not mix. A torn write is damage that names itself; the frames
 * stay in the segment and are written again, with the same numbers, and with the schema, which may be what was torn. */
static int append(int fd, struct segment *segment, bool is_made, const void *frames, size_t bytes)
{
    struct statx status;
    int found = raw_statx_descriptor(fd, &status);
    /* Who made a file is about to write the schema. Should it die instead, we write one. */
    for (int waits = 0; found == 0 && status.stx_size == 0 && !is_made && waits < SCHEMA_WAITS; waits++) {
        syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = SCHEMA_WAIT_NS }, NULL);
        found = raw_statx_descriptor(fd, &status);
    }
    if (found < 0)
        return found;
    struct iovec parts[2] = { { (void *)schema_frame, sizeof schema_frame }, { (void *)frames, bytes } };
    bool has_schema = status.stx_size >= sizeof schema_frame && !segment->is_spool_torn;
    size_t whole = bytes + (has_schema ? 0 : sizeof schema_frame);
    if (!raw_may_grow_to(status.stx_size + whole))
        return -EFBIG;
    long written;
    do
        written = raw_writev(fd, parts + has_schema, 2 - has_schema);
    while (written == -EINTR);
    if (written < 0)
        return (int)written;
    own_io.spool_bytes += (uint64_t)written;
    segment->is_spool_torn = (size_t)written != whole;
    return segment->is_spool_torn ? -ENOSPC : 0;
}

int spool_append(struct segment *segment, const void *frames, size_t bytes)
{
    bool is_made = false;
    int fd = open_spool(segment, &is_made);
    if (fd < 0)
        return fd;
    int appended = append(fd, segment, is_made, frames, bytes);
    int closed = (int)raw_result(syscall(SYS_close, fd));
    return appended < 0 ? appended : closed < 0 ? closed : 0;
}

size_t frames_before(const unsigned char *frames, size_t bytes, uint32_t number)
{
    struct format_envelope envelope;
    size_t at = 0;
    while (bytes - at > sizeof envelope) {
        memcpy(&envelope, frames + at, sizeof envelope);
        if (envelope.frame_number >= number || envelope.packed_bytes > bytes - at - sizeof envelope)
            break;
        at += sizeof envelope + envelope.packed_bytes;
    }
    return at;
}

int drain_frames(struct segment_home *home)
{
    struct segment *segment = home->segment;
    union commit commit = { .word = atomic_load(&segment->commit) };
    if (commit.frame_bytes == 0)
        return 0;
    size_t collected = frames_before(segment->frames, commit.frame_bytes, collected_frames(segment));
    int appended = collected == commit.frame_bytes ? 0 : spool_append(segment, segment->frames + collected, commit.frame_bytes - collected);
    if (appended < 0)
        return appended;
    commit.frame_bytes = 0;
    atomic_store(&segment->commit, commit.word);
    return 0;
}

int drain_past_segment(struct segment_home *home, const void *frame, size_t bytes)
{
    int drained = drain_frames(home);
    return drained < 0 ? drained : spool_append(home->segment, frame, bytes);
}
