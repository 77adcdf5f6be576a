/* POSIX calls on descriptors and names. Nearly all bodies are the same few statements: a row each. One with an `if` is a special case and
 * says why. */
#include "interpose.h"
#include "fast_path.h"

#include <sys/stat.h>
#include <sys/uio.h>

/* A read or write of `fd`; `how`: read or wrote. Where preadv2 and pwritev2 move on from the descriptor's position, their offset is NO_OFFSET. */
#define TRANSFER(operation, name, parameters, arguments, how, offset) \
    INTERPOSE(ssize_t, name, parameters) \
    { \
        struct call call = call_begin(OP_##operation); \
        ssize_t moved = NEXT(name) arguments; /* NOLINT(bugprone-macro-parentheses): a list in parentheses */ \
        call_stop(&call); \
        return call_##how(&call, fd, offset, moved); \
    }
_Static_assert(NO_OFFSET == -1, "as preadv2 has it");

TRANSFER(read, read, (int fd, void *buf, size_t size), (fd, buf, size), read, NO_OFFSET)
SAME_AS(__read, read);
TRANSFER(read, __read_chk, (int fd, void *buf, size_t size, size_t room), (fd, buf, size, room), read, NO_OFFSET)
TRANSFER(pread, pread, (int fd, void *buf, size_t size, off_t offset), (fd, buf, size, offset), read, offset)
SAME_AS(pread64, pread); /* off_t is 64 bits wherever we build */
SAME_AS(__pread64, pread);
TRANSFER(pread, __pread_chk, (int fd, void *buf, size_t size, off_t offset, size_t room), (fd, buf, size, offset, room), read, offset)
SAME_AS(__pread64_chk, __pread_chk);
TRANSFER(readv, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), read, NO_OFFSET)
TRANSFER(preadv, preadv, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset), read, offset)
SAME_AS(preadv64, preadv);
TRANSFER(preadv, preadv2, (int fd, const struct iovec *parts, int count, off_t offset, int flags), (fd, parts, count, offset, flags), read, offset)
SAME_AS(preadv64v2, preadv2);
TRANSFER(write, write, (int fd, const void *buf, size_t size), (fd, buf, size), wrote, NO_OFFSET)
SAME_AS(__write, write);
TRANSFER(pwrite, pwrite, (int fd, const void *buf, size_t size, off_t offset), (fd, buf, size, offset), wrote, offset)
SAME_AS(pwrite64, pwrite);
SAME_AS(__pwrite64, pwrite);
TRANSFER(writev, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), wrote, NO_OFFSET)
TRANSFER(pwritev, pwritev, (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset), wrote, offset)
SAME_AS(pwritev64, pwritev);
/* Not TRANSFER: a call of it may ask for what O_DSYNC asks for. */
INTERPOSE(ssize_t, pwritev2, (int fd, const struct iovec *parts, int count, off_t offset, int flags))
{
    struct call call = call_begin(OP_pwritev);
    ssize_t moved = NEXT(pwritev2)(fd, parts, count, offset, flags);
    call_stop(&call);
    call_wrote(&call, fd, offset, moved);
    if (__builtin_expect((flags & CALL_SYNCS) != 0, 0))
        call_synced(fd, moved);
    return moved;
}
SAME_AS(pwritev64v2, pwritev2);

INTERPOSE(off_t, lseek, (int fd, off_t offset, int whence))
{
    struct call call = call_begin(OP_lseek);
    off_t position = NEXT(lseek)(fd, offset, whence);
    call_stop(&call);
    return call_sought(&call, fd, position);
}
SAME_AS(lseek64, lseek);
SAME_AS(__lseek, lseek);
COUNTED(fsync, int, fsync, (int fd), (fd), touched, fd, result != 0)
COUNTED(fdatasync, int, fdatasync, (int fd), (fd), touched, fd, result != 0)


COUNTED(unlink, int, unlink, (const char *path), (path), named, AT_FDCWD, path, result != 0)
COUNTED(unlinkat, int, unlinkat, (int dirfd, const char *path, int flags), (dirfd, path, flags), named, dirfd, path, result != 0)
COUNTED(rename, int, rename, (const char *from, const char *to), (from, to), named, AT_FDCWD, to, result != 0)
COUNTED(renameat, int, renameat, (int from_dirfd, const char *from, int to_dirfd, const char *to), (from_dirfd, from, to_dirfd, to),
        named, to_dirfd, to, result != 0)
COUNTED(renameat, int, renameat2, (int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags),
        (from_dirfd, from, to_dirfd, to, flags), named, to_dirfd, to, result != 0)
COUNTED(mkdir, int, mkdir, (const char *path, mode_t mode), (path, mode), named, AT_FDCWD, path, result != 0)
COUNTED(mkdirat, int, mkdirat, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode), named, dirfd, path, result != 0)
