/* POSIX calls that read directories. What opendir and readdir ask of the kernel stays inside libc: a call counts as itself. */
#include "interpose.h"

#include <dirent.h>

typedef int choose(const struct dirent *), compare(const struct dirent **, const struct dirent **);

/* closedir(NULL) is an error, and not a crash; volatile, since headers have the compiler believe that it never is. */
static int fd_of(DIR *volatile directory)
{
    return directory != NULL ? dirfd(directory) : -1;
}

COUNTED(opendir, DIR *, opendir, (const char *path), (path), opened, fd_of(result), AT_FDCWD, path)
COUNTED(opendir, DIR *, fdopendir, (int fd), (fd), touched, fd, result == NULL)

/* NULL is the end far more often than an error. */
COUNTED(readdir, struct dirent *, readdir, (DIR *directory), (directory), touched, fd_of(directory), false)
SAME_AS(readdir64, readdir);
COUNTED(readdir, int, readdir_r, (DIR *directory, struct dirent *room, struct dirent **entry), (directory, room, entry),
        touched, fd_of(directory), result != 0)
SAME_AS(readdir64_r, readdir_r);
COUNTED(getdents, ssize_t, getdents64, (int fd, void *entries, size_t room), (fd, entries, room), touched, fd, result < 0)
COUNTED(getdents, ssize_t, getdirentries, (int fd, char *entries, size_t room, off_t *base), (fd, entries, room, base), touched, fd, result < 0)
SAME_AS(getdirentries64, getdirentries);

INTERPOSE(void, rewinddir, (DIR *directory))
{
    struct call call = call_begin(OP_seekdir);
    REAL(rewinddir)(directory);
    call_end(&call);
    call_touched(&call, fd_of(directory), false);
    call_close(&call);
}

INTERPOSE(void, seekdir, (DIR *directory, long position))
{
    struct call call = call_begin(OP_seekdir);
    REAL(seekdir)(directory, position);
    call_end(&call);
    call_touched(&call, fd_of(directory), false);
    call_close(&call);
}

INTERPOSE(int, closedir, (DIR *directory))
{
    descriptor closed = descriptor_release(fd_of(directory));
    struct call call = call_begin(OP_closedir);
    int failed = REAL(closedir)(directory);
    call_end(&call);
    call_touched_descriptor(&call, closed, failed != 0);
    call_close(&call);
    return failed;
}

COUNTED(scandir, int, scandir, (const char *path, struct dirent ***entries, choose *wanted, compare *order), (path, entries, wanted, order),
        named, AT_FDCWD, path, result < 0)
SAME_AS(scandir64, scandir);
COUNTED(scandir, int, scandirat, (int dirfd, const char *path, struct dirent ***entries, choose *wanted, compare *order),
        (dirfd, path, entries, wanted, order), named, dirfd, path, result < 0)
SAME_AS(scandirat64, scandirat);
