/* POSIX calls on what a file has beside its bytes: mode, owner, times, extended attributes, locks; and on file systems and
 * devices. */
#include "interpose.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <utime.h>

INTERPOSE(int, chmod, (const char *path, mode_t mode))
{
    struct call call = call_begin(OP_chmod);
    int failed = REAL(chmod)(path, mode);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, lchmod, (const char *path, mode_t mode))
{
    struct call call = call_begin(OP_chmod);
    int failed = REAL(lchmod)(path, mode);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, fchmodat, (int dirfd, const char *path, mode_t mode, int flags))
{
    struct call call = call_begin(OP_chmod);
    int failed = REAL(fchmodat)(dirfd, path, mode, flags);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, fchmod, (int fd, mode_t mode))
{
    struct call call = call_begin(OP_fchmod);
    int failed = REAL(fchmod)(fd, mode);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, chown, (const char *path, uid_t user, gid_t group))
{
    struct call call = call_begin(OP_chown);
    int failed = REAL(chown)(path, user, group);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, lchown, (const char *path, uid_t user, gid_t group))
{
    struct call call = call_begin(OP_chown);
    int failed = REAL(lchown)(path, user, group);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, fchownat, (int dirfd, const char *path, uid_t user, gid_t group, int flags))
{
    struct call call = call_begin(OP_chown);
    int failed = REAL(fchownat)(dirfd, path, user, group, flags);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, fchown, (int fd, uid_t user, gid_t group))
{
    struct call call = call_begin(OP_fchown);
    int failed = REAL(fchown)(fd, user, group);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, utime, (const char *path, const struct utimbuf *times))
{
    struct call call = call_begin(OP_utime);
    int failed = REAL(utime)(path, times);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, utimes, (const char *path, const struct timeval times[2]))
{
    struct call call = call_begin(OP_utime);
    int failed = REAL(utimes)(path, times);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, lutimes, (const char *path, const struct timeval times[2]))
{
    struct call call = call_begin(OP_utime);
    int failed = REAL(lutimes)(path, times);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, futimesat, (int dirfd, const char *path, const struct timeval times[2]))
{
    struct call call = call_begin(OP_utime);
    int failed = REAL(futimesat)(dirfd, path, times);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, utimensat, (int dirfd, const char *path, const struct timespec times[2], int flags))
{
    struct call call = call_begin(OP_utime);
    int failed = REAL(utimensat)(dirfd, path, times, flags);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, futimes, (int fd, const struct timeval times[2]))
{
    struct call call = call_begin(OP_futime);
    int failed = REAL(futimes)(fd, times);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, futimens, (int fd, const struct timespec times[2]))
{
    struct call call = call_begin(OP_futime);
    int failed = REAL(futimens)(fd, times);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, statfs, (const char *path, struct statfs *status))
{
    struct call call = call_begin(OP_statfs);
    int failed = REAL(statfs)(path, status);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(statfs64, statfs);
SAME_AS(__statfs, statfs);

INTERPOSE(int, statvfs, (const char *path, struct statvfs *status))
{
    struct call call = call_begin(OP_statfs);
    int failed = REAL(statvfs)(path, status);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(statvfs64, statvfs);

INTERPOSE(int, fstatfs, (int fd, struct statfs *status))
{
    struct call call = call_begin(OP_fstatfs);
    int failed = REAL(fstatfs)(fd, status);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(fstatfs64, fstatfs);

INTERPOSE(int, fstatvfs, (int fd, struct statvfs *status))
{
    struct call call = call_begin(OP_fstatfs);
    int failed = REAL(fstatvfs)(fd, status);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(fstatvfs64, fstatvfs);

INTERPOSE(int, flock, (int fd, int operation))
{
    struct call call = call_begin(OP_flock);
    int failed = REAL(flock)(fd, operation);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

/* fcntl's locks by another name. */
INTERPOSE(int, lockf, (int fd, int command, off_t size))
{
    struct call call = call_begin(OP_fcntl);
    int failed = REAL(lockf)(fd, command, size);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(lockf64, lockf);

INTERPOSE(ssize_t, getxattr, (const char *path, const char *name, void *value, size_t room))
{
    struct call call = call_begin(OP_getxattr);
    ssize_t length = REAL(getxattr)(path, name, value, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(int, setxattr, (const char *path, const char *name, const void *value, size_t size, int flags))
{
    struct call call = call_begin(OP_setxattr);
    int failed = REAL(setxattr)(path, name, value, size, flags);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(ssize_t, listxattr, (const char *path, char *names, size_t room))
{
    struct call call = call_begin(OP_listxattr);
    ssize_t length = REAL(listxattr)(path, names, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(int, removexattr, (const char *path, const char *name))
{
    struct call call = call_begin(OP_removexattr);
    int failed = REAL(removexattr)(path, name);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t room))
{
    struct call call = call_begin(OP_getxattr);
    ssize_t length = REAL(lgetxattr)(path, name, value, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(int, lsetxattr, (const char *path, const char *name, const void *value, size_t size, int flags))
{
    struct call call = call_begin(OP_setxattr);
    int failed = REAL(lsetxattr)(path, name, value, size, flags);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(ssize_t, llistxattr, (const char *path, char *names, size_t room))
{
    struct call call = call_begin(OP_listxattr);
    ssize_t length = REAL(llistxattr)(path, names, room);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(int, lremovexattr, (const char *path, const char *name))
{
    struct call call = call_begin(OP_removexattr);
    int failed = REAL(lremovexattr)(path, name);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t room))
{
    struct call call = call_begin(OP_getxattr);
    ssize_t length = REAL(fgetxattr)(fd, name, value, room);
    call_end(&call);
    call_touched(&call, fd, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags))
{
    struct call call = call_begin(OP_setxattr);
    int failed = REAL(fsetxattr)(fd, name, value, size, flags);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(ssize_t, flistxattr, (int fd, char *names, size_t room))
{
    struct call call = call_begin(OP_listxattr);
    ssize_t length = REAL(flistxattr)(fd, names, room);
    call_end(&call);
    call_touched(&call, fd, length < 0);
    call_close(&call);
    return length;
}

INTERPOSE(int, fremovexattr, (int fd, const char *name))
{
    struct call call = call_begin(OP_removexattr);
    int failed = REAL(fremovexattr)(fd, name);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

/* The third argument is a word whatever the request, or not there. A clone of a file (FICLONE) moves no bytes. */
INTERPOSE(int, ioctl, (int fd, unsigned long request, ...))
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct call call = call_begin(OP_ioctl);
    int result = REAL(ioctl)(fd, request, argument);
    call_end(&call);
    call_touched(&call, fd, result < 0);
    call_close(&call);
    return result;
}
