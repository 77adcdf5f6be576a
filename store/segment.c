#include "segment.h"

#include "clock.h"
#include "format.h"
#include "raw.h"
#include "schema_frame.inc"
#include "sections.h"
#include "settings.h"
#include "sparse.h"
#include "text.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>

uint64_t segment_layout(void)
{
    return segment_layout_of(SCHEMA_ID);
}

void segment_user_dir(char *path, size_t room, const char *dir, unsigned uid, unsigned number)
{
    char *end = path + room, *at = text_put_number(text_put(text_put(path, end, dir), end, "/" USER_DIR), end, uid);
    if (number > 0)
        at = text_put_number(text_put(at, end, "."), end, number);
    if (at == end)
        path[0] = '\0';
}

bool segment_is_user_dir(const char *name)
{
    const char *at = name + sizeof USER_DIR - 1;
    if (strncmp(name, USER_DIR, sizeof USER_DIR - 1) != 0 || *at < '0' || *at > '9')
        return false;
    at += strspn(at, "0123456789");
    if (*at == '.' && at[1] != '\0')
        at += 1 + strspn(at + 1, "0123456789");
    return *at == '\0';
}

bool segment_dir_is_private(const char *path)
{
    struct statx status;
    return raw_statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &status) == 0 && S_ISDIR(status.stx_mode) && status.stx_uid == raw_geteuid() &&
           (status.stx_mode & 0022) == 0;
}

static int reserve_by_path(struct segment_home *home, size_t offset, size_t bytes)
{
    int fd = raw_open(home->path, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0)
        return fd;
    int reserved = (int)raw_result(syscall(SYS_fallocate, fd, 0, offset, bytes));
    raw_close(fd);
    return reserved;
}

static int reserve(struct segment_home *home, size_t offset, size_t bytes)
{
    if (home->place == PLACE_private)
        return 0;
    if (!home->reserves_by_path) {
        int populated = (int)raw_result(syscall(SYS_madvise, (char *)home->segment + offset, bytes, MADV_POPULATE_WRITE));
        if (populated != -EINVAL)
            return populated == -EFAULT ? -ENOMEM : populated; /* as it says where shared memory is full */
        home->reserves_by_path = true;
    }
    return reserve_by_path(home, offset, bytes);
}

static int reserve_part(struct segment_home *home, const void *part, size_t bytes)
{
    size_t offset = (size_t)((const char *)part - (const char *)home->segment);
    size_t first = offset / PAGE_BYTES, end = (offset + bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    if (offset >= SEGMENT_FIXED_BYTES)
        return reserve(home, first * PAGE_BYTES, (end - first) * PAGE_BYTES);
    for (size_t page = first; page < end; page++) {
        if ((home->reserved[page / 64] >> (page % 64) & 1) != 0)
            continue;
        /* A few pages at a time: who comes for a second one comes for the next one soon. */
        size_t more = page > 0 && (home->reserved[(page - 1) / 64] >> ((page - 1) % 64) & 1) != 0 ? 4 : 1;
        size_t until = page + more < SEGMENT_FIXED_BYTES / PAGE_BYTES ? page + more : SEGMENT_FIXED_BYTES / PAGE_BYTES;
        int reserved = reserve(home, page * PAGE_BYTES, (until - page) * PAGE_BYTES);
        if (reserved < 0)
            return reserved;
        for (; page < until; page++)
            home->reserved[page / 64] |= 1ull << (page % 64);
        page--;
    }
    return 0;
}

int segment_reserve(struct segment_home *home, const void *part, size_t bytes)
{
    int reserved = reserve_part(home, part, bytes);
    if (reserved < 0)
        home->is_short = true;
    return reserved;
}

/* What every process touches sooner or later, and no page more: the first lane is in it. */
static int reserve_beginning(struct segment_home *home)
{
    const struct {
        const void *part;
        size_t bytes;
    } parts[] = {
        { home->segment, PAGE_BYTES },
        { home->segment->mounts, sizeof home->segment->mounts + 512 },
        { segment_record(home->segment, CELLS), (CELLS + 1) * sizeof(struct record) + 1 }, /* of a full lane, and a first frame's beginning */
        { home->segment->lanes, LANE_BYTES },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t offset = (size_t)((const char *)parts[i].part - (const char *)home->segment);
        size_t first = offset / PAGE_BYTES, end = (offset + parts[i].bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        int reserved = reserve(home, first * PAGE_BYTES, (end - first) * PAGE_BYTES);
        if (reserved < 0)
            return reserved;
        for (size_t page = first; page < end && page < SEGMENT_FIXED_BYTES / PAGE_BYTES; page++)
            home->reserved[page / 64] |= 1ull << (page % 64);
    }
    return 0;
}

int segment_reserve_kept(struct segment_home *home)
{
    int reserved = segment_reserve(home, segment_record(home->segment, RECORDS_KEPT - 1), RECORDS_KEPT * sizeof(struct record));
    int frames = segment_reserve(home, home->segment->frames, FRAMES_KEPT_BYTES);
    return reserved < 0 ? reserved : frames;
}

static bool is_scarce(int fd)
{
    struct statfs space;
    return syscall(SYS_fstatfs, fd, &space) == 0 && space.f_blocks > 0 && /* else the file system has no limit */
           (uint64_t)space.f_bavail * (uint64_t)space.f_bsize < SCARCE_BYTES;
}

CALL_DATA _Atomic bool sparse_is_new_memory_locked;

static struct segment *map(int flags, int fd)
{
    return (struct segment *)sparse_map(sizeof(struct segment), flags, fd);
}

/* Returns its descriptor, or -errno. */
static int create_file_in(struct segment_home *home, const char *user_dir, const char *name)
{
    int fd = -EEXIST;
    for (unsigned n = 0; fd == -EEXIST && n < 100000; n++) {
        home->number = n;
        char *end = home->path + sizeof home->path;
        text_put_number(text_put(text_put(text_put(text_put(home->path, end, user_dir), end, "/"), end, name), end, "."), end, n);
        fd = raw_open(home->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    }
    if (fd == -EACCES || fd == -EPERM) /* under a landlock that forbids to write, but not to make: it is there, and empty */
        raw_unlink(home->path);
    return fd;
}

/* The directory may be there, or somebody else of this user's makes it at this moment. Returns 0, -EACCES where it is not ours alone, or -ENOENT
 * where none can be made. */
static int make_user_dir(const char *user_dir)
{
    if (segment_dir_is_private(user_dir))
        return 0;
    int made = raw_mkdir(user_dir, 0700);
    return segment_dir_is_private(user_dir) ? 0 : made == 0 || made == -EEXIST ? -EACCES : -ENOENT;
}

static bool create_in(struct segment_home *home, enum place place, const char *dir, const char *name)
{
    char user_dir[256];
    int fd = -EACCES;
    *home = (struct segment_home){ .place = place };
    /* In a user namespace another user's directory may look like ours, until we try to write to it. */
    for (unsigned number = 0; (fd == -EACCES || fd == -EPERM) && number < USER_DIRS; number++) {
        segment_user_dir(user_dir, sizeof user_dir, dir, raw_geteuid(), number);
        fd = make_user_dir(user_dir);
        if (fd == 0)
            fd = create_file_in(home, user_dir, name);
    }
    if (fd < 0)
        return false;
    bool is_sized = raw_may_grow_to(sizeof(struct segment)) && raw_truncate_fd(fd, sizeof(struct segment)) == 0;
    home->segment = is_sized ? map(MAP_SHARED, fd) : MAP_FAILED;
    bool may_be_full_soon = is_scarce(fd);
    raw_close(fd);
    if (home->segment != MAP_FAILED) {
        if (reserve_beginning(home) == 0 && (!may_be_full_soon || segment_reserve_kept(home) == 0))
            return true;
        segment_unmap(home);
    }
    raw_unlink(home->path);
    return false;
}

int segment_create(struct segment_home *home, const char *dir, const char *name)
{
    const char *tmpdir = settings_environment("TMPDIR");
    if (!create_in(home, PLACE_shm, dir, name) && !create_in(home, PLACE_tmpdir, tmpdir != NULL && tmpdir[0] == '/' ? tmpdir : "/tmp", name)) {
        *home = (struct segment_home){ .place = PLACE_private, .segment = map(MAP_PRIVATE | MAP_ANONYMOUS, -1) };
        if (home->segment == MAP_FAILED)
            return -ENOMEM;
    }
    struct segment *segment = home->segment;
    memcpy(segment->magic, SEGMENT_MAGIC, sizeof segment->magic);
    memcpy(segment->version, SLICEWISE_VERSION, sizeof SLICEWISE_VERSION);
    segment->layout = segment_layout();
    segment->pid = (uint32_t)raw_getpid();
    segment->created_ns = clock_read(CLOCK_BOOTTIME);
    if (home->place == PLACE_tmpdir)
        segment_boot_id(segment->boot_id);
    segment->text_used = 1; /* text 0 is the empty string */
    return 0;
}

void segment_share(struct segment_home *home)
{
    char dir[sizeof home->path];
    const char *slash = strrchr(home->path, '/');
    if (slash == NULL)
        return;
    snprintf(dir, sizeof dir, "%.*s", (int)(slash - home->path), home->path);
    home->segment->is_group_readable = 1;
    syscall(SYS_fchmodat, AT_FDCWD, dir, 0750);
    syscall(SYS_fchmodat, AT_FDCWD, home->path, 0640);
}

void segment_boot_id(char id[36])
{
    char text[40];
    long length = raw_read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    memset(id, 0, 36);
    if (length >= 36)
        memcpy(id, text, 36);
}

void segment_unmap(struct segment_home *home)
{
    syscall(SYS_munmap, home->segment, sizeof(struct segment));
    home->segment = NULL;
}

uint64_t segment_add_text(struct segment_home *home, const char *string)
{
    struct segment *segment = home->segment;
    size_t size = strlen(string) + 1;
    if (size == 1 || segment->text_used + size > TEXT_BYTES || segment_reserve(home, segment->text + segment->text_used, size) < 0)
        return 0;
    uint32_t at = segment->text_used;
    memcpy(segment->text + at, string, size);
    segment->text_used += (uint32_t)size;
    return at;
}
