/* The stat family: glibc 2.33's functions and the versioned ones that older programs call. What they found tells the mount. */
#include "interpose.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

static void call_found(const struct call *call, int dirfd, const char *path, const struct stat *status, int failed)
{
    if (failed == 0)
        call_named_on(call, dirfd, path, status->st_dev, status->st_mode);
    else
        call_named(call, dirfd, path, true);
}

COUNTED(stat, int, stat, (const char *path, struct stat *status), (path, status), found, AT_FDCWD, path, status, result)
SAME_AS(stat64, stat);
COUNTED(lstat, int, lstat, (const char *path, struct stat *status), (path, status), found, AT_FDCWD, path, status, result)
SAME_AS(lstat64, lstat);
COUNTED(fstat, int, fstat, (int fd, struct stat *status), (fd, status), touched, fd, result != 0)
SAME_AS(fstat64, fstat);
COUNTED(fstatat, int, fstatat, (int dirfd, const char *path, struct stat *status, int flags), (dirfd, path, status, flags),
        found, dirfd, path, status, result)
SAME_AS(fstatat64, fstatat);

/* The device and the type of file are there whatever was asked for. */
INTERPOSE(int, statx, (int dirfd, const char *path, int flags, unsigned wanted, struct statx *status))
{
    struct call call = call_begin(OP_statx);
    int failed = REAL(statx)(dirfd, path, flags, wanted, status);
    call_end(&call);
    if (failed == 0)
        call_named_on(&call, dirfd, path, makedev(status->stx_dev_major, status->stx_dev_minor), status->stx_mode);
    else
        call_named(&call, dirfd, path, true);
    call_close(&call);
    return failed;
}

COUNTED(stat, int, __xstat, (int version, const char *path, struct stat *status), (version, path, status), found, AT_FDCWD, path, status, result)
SAME_AS(__xstat64, __xstat);
COUNTED(lstat, int, __lxstat, (int version, const char *path, struct stat *status), (version, path, status), found, AT_FDCWD, path, status, result)
SAME_AS(__lxstat64, __lxstat);
COUNTED(fstat, int, __fxstat, (int version, int fd, struct stat *status), (version, fd, status), touched, fd, result != 0)
SAME_AS(__fxstat64, __fxstat);
COUNTED(fstatat, int, __fxstatat, (int version, int dirfd, const char *path, struct stat *status, int flags), (version, dirfd, path, status, flags),
        found, dirfd, path, status, result)
SAME_AS(__fxstatat64, __fxstatat);
