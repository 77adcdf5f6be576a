#include "record.h"

#include "format.h"
#include "raw.h"
#define WITH_SCHEMA_FRAME
#include "schema_frame.inc"

#include <stdio.h>
#include <string.h>

void spool_path(char *path, size_t room, const struct segment *segment)
{
    snprintf(path, room, "%.*s/%s.swz", (int)sizeof segment->spool_dir, segment->spool_dir,
             segment_text(segment, segment->process_row[processes_host]));
}

/* mkdir -p of the directory that holds `path`. Returns 0, or why the first directory that was missing could not be made. */
static int make_directories(const char *path)
{
    char parent[2048];
    int wrong = 0;
    size_t length = strnlen(path, sizeof parent - 1);
    memcpy(parent, path, length);
    parent[length] = '\0';
    for (char *slash = strchr(parent + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int made = raw_mkdir(parent, 0700);
        if (made < 0 && made != -EEXIST && wrong == 0)
            wrong = made;
        *slash = '/';
    }
    return wrong;
}

static int open_spool(const char *path)
{
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK; /* a pipe in its place must not hold us up */
    int fd = raw_open(path, flags, 0600);
    if (fd != -ENOENT)
        return fd;
    int wrong = make_directories(path);
    fd = raw_open(path, flags, 0600);
    return fd == -ENOENT && wrong < 0 ? wrong : fd;
}

/* One write, so that frames of processes that drain at the same time do not mix. A torn write is damage that names itself; the frames
 * stay in the segment and are written again, with the same numbers, and with the schema, which may be what was torn. */
static int append(int fd, struct segment *segment, const void *frames, size_t bytes)
{
    struct statx status;
    int found = raw_statx_descriptor(fd, &status);
    if (found < 0)
        return found;
    if (!S_ISREG(status.stx_mode))
        return -EINVAL;
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
    segment->is_spool_torn = (size_t)written != whole;
    return segment->is_spool_torn ? -ENOSPC : 0;
}

static int append_to_spool(struct segment *segment, const void *frames, size_t bytes)
{
    static char path[2048]; /* not on the stack, which may be a signal handler's small one */
    spool_path(path, sizeof path, segment);
    int fd = open_spool(path);
    if (fd < 0)
        return fd;
    int appended = append(fd, segment, frames, bytes);
    int closed = (int)raw_result(syscall(SYS_close, fd));
    return appended < 0 ? appended : closed < 0 ? closed : 0;
}

int drain_frames(struct segment_home *home)
{
    struct segment *segment = home->segment;
    union commit commit = { .word = atomic_load(&segment->commit) };
    if (commit.frame_bytes == 0)
        return 0;
    int appended = append_to_spool(segment, segment->frames, commit.frame_bytes);
    if (appended < 0)
        return appended;
    commit.frame_bytes = 0;
    atomic_store(&segment->commit, commit.word);
    return 0;
}

int drain_past_segment(struct segment_home *home, const void *frame, size_t bytes)
{
    int drained = drain_frames(home);
    return drained < 0 ? drained : append_to_spool(home->segment, frame, bytes);
}
