#include "name.h"

#include "descriptor.h"
#include "engine.h"
#include "mount.h"
#include "peek.h"
#include "state.h"

#include <limits.h>
#include <sys/sysmacros.h>

static uint64_t device_of(const struct statx *status)
{
    return makedev(status->stx_dev_major, status->stx_dev_minor);
}

static uint32_t mount_of_directory(int dirfd)
{
    struct statx status;
    if (dirfd != AT_FDCWD)
        return descriptor_mount(descriptor_of(dirfd));
    if (raw_statx(AT_FDCWD, "", AT_EMPTY_PATH, &status) < 0)
        return MOUNT_OTHER;
    return mount_of_seen(OBJECT_file, &status, -1);
}

/* Caller holds the lock. `status` is NULL where nothing has that name. */
static uint32_t enter(const char *path, const struct statx *status)
{
    if (status == NULL)
        return mount_enter_path(&engine.home, path);
    uint32_t seen = mount_enter_seen(&engine.home, status);
    return seen != MOUNT_NOT_KNOWN ? seen : mount_enter(&engine.home, OBJECT_file, device_of(status), path);
}

static uint32_t mount_of_path(const char *path, const struct statx *status)
{
    static char here[PATH_MAX]; /* guarded by the lock */
    struct held_lock held = lock_take(&engine.lock);
    if (path[0] != '/')
        path = syscall(SYS_getcwd, here, sizeof here) > 0 ? here : "/";
    uint32_t mount = enter(path, status);
    lock_give(held);
    return mount;
}

uint32_t engine_mount_of_path(const char *path)
{
    if (!engine_wake())
        return MOUNT_OTHER;
    struct statx status;
    bool is_there = raw_statx(AT_FDCWD, path, 0, &status) == 0; /* symbolic links and `..` followed, as text cannot */
    return mount_of_path(path, is_there ? &status : NULL);
}

extern char __libc_single_threaded __attribute__((weak));

/* The kernel has just read the name (`found` is what came of it), and nobody is there who could have unmapped it since. */
static bool is_readable_still(int found)
{
    return (found == -ENOENT || found == -ENOTDIR) && &__libc_single_threaded != NULL && __libc_single_threaded;
}

/* The kernel looks for the name from a directory that there is not: so it tells which names are relative, and which cannot be read. */
static uint32_t mount_of_unread_name(int dirfd, const char *path)
{
    enum { NO_DIRECTORY = -1 };
    static char copy[PATH_MAX]; /* guarded by the lock: the stack may be a signal handler's small one */
    struct statx status;
    int found = raw_statx(NO_DIRECTORY, path, AT_EMPTY_PATH, &status);
    if (found == -EBADF)
        return mount_of_directory(dirfd);
    if (found == -EFAULT)
        return MOUNT_OTHER;
    uint32_t known = found == 0 ? mount_find(engine.home.segment, OBJECT_file, device_of(&status)) : MOUNT_NOT_KNOWN;
    if (known != MOUNT_NOT_KNOWN)
        return known;
    struct held_lock held = lock_take(&engine.lock);
    if (!is_readable_still(found))
        path = peek_text(path, copy, sizeof copy) >= 0 ? copy : "";
    uint32_t mount = path[0] == '/' ? enter(path, found == 0 ? &status : NULL) : MOUNT_OTHER;
    lock_give(held);
    return mount;
}

uint32_t name_mount_removed(int dirfd, const char *path)
{
    if (path[0] != '/')
        return mount_of_directory(dirfd);
    return engine_wake() ? mount_of_path(path, NULL) : MOUNT_OTHER;
}

uint32_t name_mount(int dirfd, const char *path, bool is_failed)
{
    if (path == NULL)
        return mount_of_directory(dirfd);
    if (is_failed)
        return mount_of_unread_name(dirfd, path);
    return path[0] == '/' ? engine_mount_of_path(path) : mount_of_directory(dirfd);
}
