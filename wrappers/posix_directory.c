/* POSIX calls that read directories. What opendir and readdir ask of the kernel stays inside libc: a call counts as itself. */
#include "interpose.h"

#include <dirent.h>

typedef int choose(const struct dirent *), compare(const struct dirent **, const struct dirent **);

/* closedir(NULL) is an error, and not a crash; volatile, since headers have the compiler believe that it never is. */
static int fd_of(DIR *volatile directory)
{
    return directory != NULL ? dirfd(directory) : -1;
}

INTERPOSE(DIR *, opendir, (const char *path))
{
    struct call call = call_begin(OP_opendir);
    DIR *directory = REAL(opendir)(path);
    call_end(&call);
    call_opened(&call, fd_of(directory), AT_FDCWD, path);
    call_close(&call);
    return directory;
}

INTERPOSE(DIR *, fdopendir, (int fd))
{
    struct call call = call_begin(OP_opendir);
    DIR *directory = REAL(fdopendir)(fd);
    call_end(&call);
    call_touched(&call, fd, directory == NULL);
    call_close(&call);
    return directory;
}

/* NULL is the end far more often than an error. */
INTERPOSE(struct dirent *, readdir, (DIR *directory))
{
    struct call call = call_begin(OP_readdir);
    struct dirent *entry = REAL(readdir)(directory);
    call_end(&call);
    call_touched(&call, fd_of(directory), false);
    call_close(&call);
    return entry;
}
SAME_AS(readdir64, readdir);

INTERPOSE(int, readdir_r, (DIR *directory, struct dirent *room, struct dirent **entry))
{
    struct call call = call_begin(OP_readdir);
    int error = REAL(readdir_r)(directory, room, entry);
    call_end(&call);
    call_touched(&call, fd_of(directory), error != 0);
    call_close(&call);
    return error;
}
SAME_AS(readdir64_r, readdir_r);

INTERPOSE(ssize_t, getdents64, (int fd, void *entries, size_t room))
{
    struct call call = call_begin(OP_getdents);
    ssize_t bytes = REAL(getdents64)(fd, entries, room);
    call_end(&call);
    call_touched(&call, fd, bytes < 0);
    call_close(&call);
    return bytes;
}

INTERPOSE(ssize_t, getdirentries, (int fd, char *entries, size_t room, off_t *base))
{
    struct call call = call_begin(OP_getdents);
    ssize_t bytes = REAL(getdirentries)(fd, entries, room, base);
    call_end(&call);
    call_touched(&call, fd, bytes < 0);
    call_close(&call);
    return bytes;
}
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

INTERPOSE(int, scandir, (const char *path, struct dirent ***entries, choose *wanted, compare *order))
{
    struct call call = call_begin(OP_scandir);
    int count = REAL(scandir)(path, entries, wanted, order);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, count < 0);
    call_close(&call);
    return count;
}
SAME_AS(scandir64, scandir);

INTERPOSE(int, scandirat, (int dirfd, const char *path, struct dirent ***entries, choose *wanted, compare *order))
{
    struct call call = call_begin(OP_scandir);
    int count = REAL(scandirat)(dirfd, path, entries, wanted, order);
    call_end(&call);
    call_named(&call, dirfd, path, count < 0);
    call_close(&call);
    return count;
}
SAME_AS(scandirat64, scandirat);
