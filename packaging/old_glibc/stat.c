/* Functions that glibc has under these names since 2.33 only, in the words of all versions. Linked where a name is wanted that
 * packaging/old_glibc/stubs has none for; hidden, so that no program ever binds to them. */
#include <sys/stat.h>

#pragma GCC visibility push(default)
int __xstat(int version, const char *path, struct stat *status);
int __lxstat(int version, const char *path, struct stat *status);
int __fxstat(int version, int fd, struct stat *status);
int __fxstatat(int version, int dirfd, const char *path, struct stat *status, int flags);
#pragma GCC visibility pop

#ifdef __x86_64__
enum { VERSION = 1 };
#else
enum { VERSION = 0 };
#endif

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int stat(const char *restrict path, struct stat *restrict status)
{
    return __xstat(VERSION, path, status);
}

HIDDEN int lstat(const char *restrict path, struct stat *restrict status)
{
    return __lxstat(VERSION, path, status);
}

HIDDEN int fstat(int fd, struct stat *status)
{
    return __fxstat(VERSION, fd, status);
}

HIDDEN int fstatat(int dirfd, const char *restrict path, struct stat *restrict status, int flags)
{
    return __fxstatat(VERSION, dirfd, path, status, flags);
}
