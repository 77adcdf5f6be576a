/* POSIX calls on what a file has beside its bytes: mode, owner, times, extended attributes, locks; and on file systems and
 * devices. */
#include "interpose.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <utime.h>

COUNTED(chmod, int, chmod, (const char *path, mode_t mode), (path, mode), named, AT_FDCWD, path, result != 0)
COUNTED(chmod, int, lchmod, (const char *path, mode_t mode), (path, mode), named, AT_FDCWD, path, result != 0)
COUNTED(chmod, int, fchmodat, (int dirfd, const char *path, mode_t mode, int flags), (dirfd, path, mode, flags), named, dirfd, path, result != 0)
COUNTED(fchmod, int, fchmod, (int fd, mode_t mode), (fd, mode), touched, fd, result != 0)
COUNTED(chown, int, chown, (const char *path, uid_t user, gid_t group), (path, user, group), named, AT_FDCWD, path, result != 0)
COUNTED(chown, int, lchown, (const char *path, uid_t user, gid_t group), (path, user, group), named, AT_FDCWD, path, result != 0)
COUNTED(chown, int, fchownat, (int dirfd, const char *path, uid_t user, gid_t group, int flags), (dirfd, path, user, group, flags),
        named, dirfd, path, result != 0)
COUNTED(fchown, int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group), touched, fd, result != 0)
COUNTED(utime, int, utime, (const char *path, const struct utimbuf *times), (path, times), named, AT_FDCWD, path, result != 0)
COUNTED(utime, int, utimes, (const char *path, const struct timeval times[2]), (path, times), named, AT_FDCWD, path, result != 0)
COUNTED(utime, int, lutimes, (const char *path, const struct timeval times[2]), (path, times), named, AT_FDCWD, path, result != 0)
COUNTED(utime, int, futimesat, (int dirfd, const char *path, const struct timeval times[2]), (dirfd, path, times), named, dirfd, path, result != 0)
COUNTED(utime, int, utimensat, (int dirfd, const char *path, const struct timespec times[2], int flags), (dirfd, path, times, flags),
        named, dirfd, path, result != 0)
COUNTED(futime, int, futimes, (int fd, const struct timeval times[2]), (fd, times), touched, fd, result != 0)
COUNTED(futime, int, futimens, (int fd, const struct timespec times[2]), (fd, times), touched, fd, result != 0)
COUNTED(statfs, int, statfs, (const char *path, struct statfs *status), (path, status),
        named, AT_FDCWD, name_apart(path, status, result == 0 ? (long)sizeof *status : -1), result != 0)
SAME_AS(statfs64, statfs);
SAME_AS(__statfs, statfs);
COUNTED(statfs, int, statvfs, (const char *path, struct statvfs *status), (path, status),
        named, AT_FDCWD, name_apart(path, status, result == 0 ? (long)sizeof *status : -1), result != 0)
SAME_AS(statvfs64, statvfs);
COUNTED(fstatfs, int, fstatfs, (int fd, struct statfs *status), (fd, status), touched, fd, result != 0)
SAME_AS(fstatfs64, fstatfs);
COUNTED(fstatfs, int, fstatvfs, (int fd, struct statvfs *status), (fd, status), touched, fd, result != 0)
SAME_AS(fstatvfs64, fstatvfs);
COUNTED(flock, int, flock, (int fd, int operation), (fd, operation), touched, fd, result != 0)

/* fcntl's locks by another name. */
COUNTED(fcntl, int, lockf, (int fd, int command, off_t size), (fd, command, size), touched, fd, result != 0)
SAME_AS(lockf64, lockf);
COUNTED(getxattr, ssize_t, getxattr, (const char *path, const char *name, void *value, size_t room), (path, name, value, room),
        named, AT_FDCWD, name_apart(path, value, result), result < 0)
COUNTED(setxattr, int, setxattr, (const char *path, const char *name, const void *value, size_t size, int flags), (path, name, value, size, flags),
        named, AT_FDCWD, path, result != 0)
COUNTED(listxattr, ssize_t, listxattr, (const char *path, char *names, size_t room), (path, names, room),
        named, AT_FDCWD, name_apart(path, names, result), result < 0)
COUNTED(removexattr, int, removexattr, (const char *path, const char *name), (path, name), named, AT_FDCWD, path, result != 0)
COUNTED(getxattr, ssize_t, lgetxattr, (const char *path, const char *name, void *value, size_t room), (path, name, value, room),
        named, AT_FDCWD, name_apart(path, value, result), result < 0)
COUNTED(setxattr, int, lsetxattr, (const char *path, const char *name, const void *value, size_t size, int flags), (path, name, value, size, flags),
        named, AT_FDCWD, path, result != 0)
COUNTED(listxattr, ssize_t, llistxattr, (const char *path, char *names, size_t room), (path, names, room),
        named, AT_FDCWD, name_apart(path, names, result), result < 0)
COUNTED(removexattr, int, lremovexattr, (const char *path, const char *name), (path, name), named, AT_FDCWD, path, result != 0)
COUNTED(getxattr, ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t room), (fd, name, value, room), touched, fd, result < 0)
COUNTED(setxattr, int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags), (fd, name, value, size, flags),
        touched, fd, result != 0)
COUNTED(listxattr, ssize_t, flistxattr, (int fd, char *names, size_t room), (fd, names, room), touched, fd, result < 0)
COUNTED(removexattr, int, fremovexattr, (int fd, const char *name), (fd, name), touched, fd, result != 0)

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
