/* The stat family: glibc 2.33's functions and the versioned ones that older programs call. What they found tells the mount. */
#include "interpose.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

static void found(const struct call *call, int dirfd, const char *path, const struct stat *status, int failed)
{
    if (failed == 0)
        call_named_on(call, status->st_dev, status->st_mode);
    else
        call_named(call, dirfd, path, true);
}

INTERPOSE(int, stat, (const char *path, struct stat *status))
{
    struct call call = call_begin(OP_stat);
    int failed = NEXT(stat)(path, status);
    call_end(&call);
    found(&call, AT_FDCWD, path, status, failed);
    call_close(&call);
    return failed;
}
SAME_AS(stat64, stat);

INTERPOSE(int, lstat, (const char *path, struct stat *status))
{
    struct call call = call_begin(OP_lstat);
    int failed = NEXT(lstat)(path, status);
    call_end(&call);
    found(&call, AT_FDCWD, path, status, failed);
    call_close(&call);
    return failed;
}
SAME_AS(lstat64, lstat);
COUNTED(fstat, int, fstat, (int fd, struct stat *status), (fd, status), touched, fd, result != 0)
SAME_AS(fstat64, fstat);

INTERPOSE(int, fstatat, (int dirfd, const char *path, struct stat *status, int flags))
{
    struct call call = call_begin(OP_fstatat);
    int failed = NEXT(fstatat)(dirfd, path, status, flags);
    call_end(&call);
    found(&call, dirfd, path, status, failed);
    call_close(&call);
    return failed;
}
SAME_AS(fstatat64, fstatat);

/* The device and the type of file are there whatever was asked for. */
INTERPOSE(int, statx, (int dirfd, const char *path, int flags, unsigned wanted, struct statx *status))
{
    struct call call = call_begin(OP_statx);
    int failed = REAL(statx)(dirfd, path, flags, wanted, status);
    call_end(&call);
    if (failed == 0)
        call_named_on(&call, makedev(status->stx_dev_major, status->stx_dev_minor), status->stx_mode);
    else
        call_named(&call, dirfd, path, true);
    call_close(&call);
    return failed;
}

INTERPOSE(int, __xstat, (int version, const char *path, struct stat *status))
{
    struct call call = call_begin(OP_stat);
    int failed = REAL(__xstat)(version, path, status);
    call_end(&call);
    found(&call, AT_FDCWD, path, status, failed);
    call_close(&call);
    return failed;
}
SAME_AS(__xstat64, __xstat);

INTERPOSE(int, __lxstat, (int version, const char *path, struct stat *status))
{
    struct call call = call_begin(OP_lstat);
    int failed = REAL(__lxstat)(version, path, status);
    call_end(&call);
    found(&call, AT_FDCWD, path, status, failed);
    call_close(&call);
    return failed;
}
SAME_AS(__lxstat64, __lxstat);
COUNTED(fstat, int, __fxstat, (int version, int fd, struct stat *status), (version, fd, status), touched, fd, result != 0)
SAME_AS(__fxstat64, __fxstat);

INTERPOSE(int, __fxstatat, (int version, int dirfd, const char *path, struct stat *status, int flags))
{
    struct call call = call_begin(OP_fstatat);
    int failed = REAL(__fxstatat)(version, dirfd, path, status, flags);
    call_end(&call);
    found(&call, dirfd, path, status, failed);
    call_close(&call);
    return failed;
}
SAME_AS(__fxstatat64, __fxstatat);
