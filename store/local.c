#include "local.h"

#include "mount.h"
#include "raw.h"
#include "sections.h"
#include "spool.h"
#include "statmount.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000u
#endif

/* Types of file systems without a device whose files lie on this node. */
static const char *const local_types[] = { "tmpfs", "overlay", "btrfs", "zfs", "ramfs", "bcachefs", "rootfs", NULL };

static bool is_local_type(const char *type)
{
    for (const char *const *local = local_types; *local != NULL; local++)
        if (strncmp(type, *local, strlen(*local)) == 0 && (type[strlen(*local)] == ' ' || type[strlen(*local)] == '\0'))
            return true;
    return false;
}

/* The same, as the kernel's list says. */
static bool is_local_mount_of_list(int fd_on_it)
{
    static char chunk[4096 + 1];
    struct statx status;
    if (syscall(SYS_statx, fd_on_it, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) != 0 || (status.stx_mask & STATX_MNT_ID) == 0)
        return false;
    int fd = raw_open("/proc/self/mountinfo", O_RDONLY, 0);
    size_t kept = 0;
    long got = 1;
    bool is_local = false, is_found = false;
    while (fd >= 0 && !is_found && got > 0 && (got = raw_read(fd, chunk + kept, sizeof chunk - 1 - kept)) > 0) {
        char *line = chunk, *end;
        chunk[kept + (size_t)got] = '\0';
        for (; !is_found && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            is_found = strtoull(line, NULL, 10) == status.stx_mnt_id;
            const char *type = is_found ? strstr(line, " - ") : NULL;
            is_local = type != NULL && is_local_type(type + 3);
        }
        kept = strlen(line);
        memmove(chunk, line, kept);
    }
    if (fd >= 0)
        raw_close(fd);
    return is_local;
}

/* Whether a directory lies on a mount of a local type, which may be one of those in `seen`. Asks no server. */
static bool is_on_local_mount(int fd, const struct statx *status, const struct segment *seen)
{
    struct one_mount one;
    uint32_t mount = seen != NULL ? mount_find(seen, OBJECT_file, makedev(status->stx_dev_major, status->stx_dev_minor)) : MOUNT_NOT_KNOWN;
    const char *type = mount != MOUNT_NOT_KNOWN ? segment_text(seen, seen->mounts[mount][mounts_type]) : "";
    if (type[0] != '\0')
        return is_local_type(type);
    return statmount_of(status, &one) ? is_local_type(one.type) : is_local_mount_of_list(fd);
}

static int open_if_local(const char *path, const struct segment *seen)
{
    struct statx status;
    int fd = spool_open_known(path);
    if (fd < 0 || (raw_statx_descriptor(fd, &status) == 0 && (status.stx_dev_major != 0 || is_on_local_mount(fd, &status, seen))))
        return fd;
    raw_close(fd);
    return -EAGAIN;
}

int local_open(const char *path)
{
    return open_if_local(path, NULL);
}

bool local_is_dir(const char *path)
{
    int fd = local_open(path);
    if (fd >= 0)
        raw_close(fd);
    return fd >= 0;
}

int local_open_profiles(const struct segment *segment, bool is_our_own)
{
    static HOME_DATA char profiles[sizeof segment->spool_dir];
    memcpy(profiles, segment->spool_dir, sizeof profiles - 1);
    char *job = strrchr(profiles, '/');
    if (job == NULL)
        return -ENOENT;
    job[job == profiles] = '\0';
    return open_if_local(profiles, is_our_own ? segment : NULL);
}
