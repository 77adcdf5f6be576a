#include "spool.h"

#include "clock.h"
#include "format.h"
#include "raw.h"
#include "unsignalled.h"
#define WITH_SCHEMA_FRAME
#include "schema_frame.inc"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#pragma weak strerrordesc_np /* other libcs have none */

enum { SCHEMA_WAITS = 10, SCHEMA_WAIT_NS = 20000, ANCHOR_LOOKS = 8 };
#define BY_OTHERS 0022
#define BY_EVERYBODY 0002

START_DATA int (*spool_carrier)(struct segment *segment, const void *frames, size_t bytes);
HOME_DATA bool spool_is_kept;
HOME_DATA const char *spool_into;

void spool_path(char *path, size_t room, const struct segment *segment)
{
    if (spool_into != NULL)
        snprintf(path, room, "%s/%s/%s.swz", spool_into, segment_text(segment, segment->process_row[processes_job]),
                 segment_text(segment, segment->process_row[processes_host]));
    else
        snprintf(path, room, "%.*s/%s.swz", (int)sizeof segment->spool_dir, segment->spool_dir,
                 segment_text(segment, segment->process_row[processes_host]));
}

const char *spool_words(int error)
{
    switch (error < 0 ? -error : error) {
    case SPOOL_DIR_OF_ANOTHER: return "SLICEWISE_DIR, or the job's directory in it, belongs to another user: name a directory of your own";
    case SPOOL_DIR_OPEN_TO_OTHERS:
        return "others may write to SLICEWISE_DIR, or to the job's directory in it: chmod go-w, or set SLICEWISE_GROUP=1 if its group is to";
    case SPOOL_OF_ANOTHER: return "the file belongs to another user";
    case SPOOL_OPEN_TO_OTHERS: return "others may write to the file: chmod go-w";
    case SPOOL_UNDER_ANOTHER_ROOT: return "its path leads elsewhere from here: the process had another root directory (chroot, a container)";
    case SPOOL_WITHOUT_PLACE: return "SLICEWISE_DIR is relative, and the working directory had been deleted when the process began";
    case SPOOL_UNASKED:
    case SPOOL_LATE: return "the file system did not answer in time";
    default: return strerrordesc_np == NULL ? "unknown error" : strerrordesc_np(error < 0 ? -error : error);
    }
}

/* What stays in the directory that it is looked up in. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strchr(name, '/') == NULL;
}

int spool_order(struct spool_order *order, const struct segment *segment, const void *frames, size_t bytes)
{
    const char *host = segment_text(segment, segment->process_row[processes_host]);
    *order = (struct spool_order){ .anchor = segment->anchor,
                                   .user = raw_geteuid(),
                                   .is_shared = segment->is_group_readable != 0,
                                   .is_kept = spool_is_kept,
                                   .is_last_hope = segment->process_row[processes_place] == PLACE_private,
                                   .is_torn = segment->is_spool_torn != 0,
                                   .frames = frames,
                                   .bytes = bytes };
    if (spool_into != NULL) {
        order->anchor = (struct spool_anchor){ 0 };
        snprintf(order->profiles, sizeof order->profiles, "%s/%s", spool_into, segment_text(segment, segment->process_row[processes_job]));
    } else
        memcpy(order->profiles, segment->spool_dir, sizeof order->profiles - 1);
    if (order->profiles[0] == '\0') /* see set_spool_dir() */
        return -ENAMETOOLONG;
    if (order->profiles[0] != '/')
        return -SPOOL_WITHOUT_PLACE;
    char *job = strrchr(order->profiles, '/');
    if (job == NULL || !is_plain_name(job + 1) || !is_plain_name(host))
        return -EINVAL;
    size_t job_bytes = strlen(job + 1) + 1, host_bytes = strlen(host);
    if (job_bytes > sizeof order->job || host_bytes + sizeof ".swz" > sizeof order->file)
        return -ENAMETOOLONG;
    memcpy(order->job, job + 1, job_bytes);
    memcpy(order->file, host, host_bytes);
    memcpy(order->file + host_bytes, ".swz", sizeof ".swz");
    job[job == order->profiles] = '\0';
    return 0;
}

void spool_settle(struct segment *segment, const struct spool_order *order)
{
    segment->is_spool_torn = order->is_torn;
    own_io.writes += order->writes;
    own_io.write_bytes += order->written_bytes;
    own_io.spool_bytes += order->written_bytes;
}

int spool_open_known(const char *path)
{
    return raw_open_known(path, O_DIRECTORY, 0);
}

static uint64_t device_of(const struct statx *status)
{
    return (uint64_t)status->stx_dev_major << 32 | status->stx_dev_minor;
}

void spool_anchor_root(struct spool_anchor *anchor)
{
    struct statx status;
    *anchor = (struct spool_anchor){ 0 };
    if (raw_statx(AT_FDCWD, "/", 0, &status) < 0)
        return;
    anchor->root_inode = status.stx_ino;
    anchor->root_device = device_of(&status);
}

/* Also where no root was noted: then there is nothing to compare with. */
static bool is_root_as_noted(const struct spool_anchor *anchor)
{
    struct statx status;
    return anchor->root_inode == 0 || raw_statx(AT_FDCWD, "/", 0, &status) < 0 ||
           (status.stx_ino == anchor->root_inode && device_of(&status) == anchor->root_device);
}

void spool_anchor(struct spool_anchor *anchor, char *spool_dir)
{
    struct statx status;
    char *end = spool_dir + strlen(spool_dir);
    anchor->path_bytes = 0;
    if (anchor->root_inode == 0 || !is_root_as_noted(anchor))
        return;
    /* Of SLICEWISE_DIR and the directories above it the first that is known to be there. The text is cut for the look, and mended. */
    for (int looks = 0; looks < ANCHOR_LOOKS; looks++) {
        while (end > spool_dir && *end != '/')
            end--;
        if (end <= spool_dir)
            return;
        *end = '\0';
        int fd = spool_open_known(spool_dir);
        bool is_seen = fd >= 0 && raw_statx(fd, "", AT_EMPTY_PATH, &status) == 0;
        if (fd >= 0)
            raw_close(fd);
        *end = '/';
        if (is_seen) {
            anchor->path_bytes = (uint32_t)(end - spool_dir);
            anchor->inode = status.stx_ino;
            anchor->device = device_of(&status);
        }
        if (is_seen || fd == -ENOSYS || fd == -EINVAL)
            return;
        end--;
    }
}

/* Whether the names lead to where they led when the segment was made. After a chroot, or in another container, they may lead elsewhere. The last hope goes
 * wherever they lead, but not where it would have to make a directory of profiles first: a jail is to stay as it is. */
static int see_anchor(struct spool_order *order)
{
    struct statx status;
    const struct spool_anchor *anchor = &order->anchor;
    if (is_root_as_noted(anchor))
        return 0;
    if (order->is_last_hope)
        return raw_statx(AT_FDCWD, order->profiles, 0, &status) == 0 ? 0 : -SPOOL_UNDER_ANOTHER_ROOT;
    if (anchor->path_bytes == 0 || anchor->path_bytes >= sizeof order->profiles)
        return -SPOOL_UNDER_ANOTHER_ROOT;
    char after = order->profiles[anchor->path_bytes];
    order->profiles[anchor->path_bytes] = '\0';
    int found = raw_statx(AT_FDCWD, order->profiles, 0, &status);
    order->profiles[anchor->path_bytes] = after;
    return found == 0 && status.stx_ino == anchor->inode && device_of(&status) == anchor->device ? 0 : -SPOOL_UNDER_ANOTHER_ROOT;
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

/* Whose files are ours where the server has users of its own (root that is squashed, a mount for one user): the owner of one that we make.
 * Returns the user if it cannot be found out. */
static unsigned owner_of_ours(int dir, unsigned user)
{
    char name[] = ".whose-00000000";
    struct statx status;
    unsigned thread = (unsigned)raw_gettid();
    for (char *digit = name + sizeof name - 2; *digit == '0'; digit--, thread >>= 4)
        *digit = "0123456789abcdef"[thread & 15];
    int fd = raw_open_at(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return user;
    int found = raw_statx(fd, "", AT_EMPTY_PATH, &status);
    raw_close(fd);
    raw_unlink_at(dir, name);
    return found == 0 ? status.stx_uid : user;
}

/* In a directory that others may write to, or that is somebody else's, anything may have been planted for us to write into. SLICEWISE_DIR itself
 * may be a place for all, as /tmp is: root's, and with the bit by which nobody removes what is another's; or its group's, where that was asked for. */
static int see_dir(const struct spool_order *order, int dir, bool is_profiles)
{
    struct statx status;
    int found = raw_statx(dir, "", AT_EMPTY_PATH, &status);
    if (found < 0)
        return found;
    bool is_for_all = is_profiles && status.stx_uid == 0 && (status.stx_mode & S_ISVTX) != 0;
    bool is_of_group = is_profiles && order->is_shared && (status.stx_mode & BY_EVERYBODY) == 0;
    if (is_for_all || is_of_group)
        return 0;
    if ((status.stx_mode & (order->is_shared ? BY_EVERYBODY : BY_OTHERS)) != 0)
        return -SPOOL_DIR_OPEN_TO_OTHERS;
    return status.stx_uid == order->user || status.stx_uid == owner_of_ours(dir, order->user) ? 0 : -SPOOL_DIR_OF_ANOTHER;
}

/* `had`: how many bytes it has. */
static int see_file(const struct spool_order *order, int fd, int dir, uint64_t *had)
{
    struct statx status;
    int found = raw_statx(fd, "", AT_EMPTY_PATH, &status);
    if (found < 0)
        return found;
    *had = status.stx_size;
    if (!S_ISREG(status.stx_mode))
        return -EINVAL;
    if (status.stx_nlink > 1) /* it is some other file as well */
        return -EMLINK;
    if ((status.stx_mode & (order->is_shared ? BY_EVERYBODY : BY_OTHERS)) != 0)
        return -SPOOL_OPEN_TO_OTHERS;
    return status.stx_uid == order->user || status.stx_uid == owner_of_ours(dir, order->user) ? 0 : -SPOOL_OF_ANOTHER;
}

static int open_in(const struct spool_order *order, int dir, bool *is_made, uint64_t *had)
{
    const unsigned mode = order->is_shared ? 0640 : 0600;
    const int flags = O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK; /* a pipe in its place must not hold us up */
    int fd = raw_open_at(dir, order->file, flags, 0);
    if (fd == -ENOENT) {
        fd = raw_open_at(dir, order->file, flags | O_CREAT | O_EXCL, mode);
        *is_made = fd >= 0;
        if (*is_made && order->is_shared)
            raw_chmod_fd(fd, mode);
        if (fd == -EEXIST)
            fd = raw_open_at(dir, order->file, flags, 0);
    }
    int wrong = fd < 0 || *is_made ? 0 : see_file(order, fd, dir, had);
    if (wrong == 0)
        return fd;
    raw_close(fd);
    return wrong;
}

/* From SLICEWISE_DIR on the names are ours, and no link is followed. */
static int open_spool(struct spool_order *order, bool *is_made, uint64_t *had)
{
    const unsigned dir_mode = order->is_shared ? 0750 : 0700;
    int wrong = see_anchor(order);
    if (wrong < 0)
        return wrong;
    int all = order->profiles_fd != NULL ? *order->profiles_fd : open_profiles(order->profiles, dir_mode);
    if (all < 0)
        return all;
    int dir = see_dir(order, all, true);
    if (dir == 0)
        dir = open_or_make_dir(all, order->job, dir_mode, order->is_shared);
    if (order->profiles_fd == NULL)
        raw_close(all);
    if (dir < 0)
        return dir;
    int fd = see_dir(order, dir, false);
    if (fd == 0)
        fd = open_in(order, dir, is_made, had);
    raw_close(dir);
    return fd;
}

/* One write, so that frames of processes that drain at the same time do not mix. A torn write is damage that names itself; the frames
 * stay in the segment and are written again, with the same numbers, and with the schema, which may be what was torn. */
static int append(struct spool_order *order, int fd, bool is_made, uint64_t had)
{
    /* Who made a file is about to write the schema. Should it die instead, we write one. */
    for (int waits = 0; had == 0 && !is_made && waits < SCHEMA_WAITS; waits++) {
        struct statx status;
        syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = SCHEMA_WAIT_NS }, NULL);
        int found = raw_statx(fd, "", AT_EMPTY_PATH, &status);
        if (found < 0)
            return found;
        had = status.stx_size;
    }
    struct iovec parts[2] = { { (void *)schema_frame, sizeof schema_frame }, { (void *)order->frames, order->bytes } };
    bool has_schema = had >= sizeof schema_frame && !order->is_torn;
    size_t whole = order->bytes + (has_schema ? 0 : sizeof schema_frame);
    if (!raw_may_grow_to(had + whole))
        return -EFBIG;
    long written;
    do {
        /* The limit may be reached all the same: others append too. */
        struct unsignalled writing = unsignalled_begin();
        written = raw_result(syscall(SYS_writev, fd, parts + has_schema, 2 - has_schema));
        unsignalled_end(&writing, written < 0);
        order->writes++;
    } while (written == -EINTR);
    if (written < 0)
        return (int)written;
    order->written_bytes += (uint64_t)written;
    order->is_torn = (size_t)written != whole;
    return order->is_torn ? -ENOSPC : 0;
}

int spool_carry_out(struct spool_order *order)
{
    bool is_made = false;
    uint64_t had = 0;
    int fd = open_spool(order, &is_made, &had);
    if (fd < 0)
        return fd;
    int appended = append(order, fd, is_made, had);
    if (appended == 0 && order->is_kept)
        appended = (int)raw_result(syscall(SYS_fdatasync, fd));
    int closed = (int)raw_result(syscall(SYS_close, fd));
    return appended < 0 ? appended : closed < 0 ? closed : 0;
}

static int append_by(struct spool_order *order, struct segment *segment, const void *frames, size_t bytes, const int *profiles)
{
    int appended = spool_order(order, segment, frames, bytes);
    if (appended < 0)
        return appended;
    order->profiles_fd = profiles;
    appended = spool_carry_out(order);
    spool_settle(segment, order);
    return appended;
}

int spool_append_ourselves(struct segment *segment, const void *frames, size_t bytes, const int *profiles)
{
    /* Not on the stack, which may be a signal handler's small one. */
    static HOME_HEAD struct spool_order usual __attribute__((aligned(PAGE_BYTES)));
    static HOME_DATA _Atomic bool is_taken;
    if (!atomic_exchange(&is_taken, true)) {
        int appended = append_by(&usual, segment, frames, bytes, profiles);
        atomic_store(&is_taken, false);
        return appended;
    }
    struct spool_order *order =
        (struct spool_order *)syscall(SYS_mmap, NULL, sizeof *order, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (order == MAP_FAILED)
        return -ENOMEM;
    int appended = append_by(order, segment, frames, bytes, profiles);
    syscall(SYS_munmap, order, sizeof *order);
    return appended;
}

int spool_append(struct segment *segment, const void *frames, size_t bytes)
{
    return spool_carrier != NULL ? spool_carrier(segment, frames, bytes) : spool_append_ourselves(segment, frames, bytes, NULL);
}
