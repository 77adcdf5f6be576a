/* POSIX calls on descriptors and names. Each body is the same few statements; one with an `if` is a special case and says why. */
#include "interpose.h"
#include "fast_path.h"
#include "burst_gates.h"

#include <sys/stat.h>
#include <sys/uio.h>


INTERPOSE(ssize_t, read, (int fd, void *buf, size_t size))
{
    struct call call = call_begin(OP_read);
    ssize_t moved = NEXT(read)(fd, buf, size);
    call_stop(&call);
    return call_read(&call, fd, NO_OFFSET, moved);
}
SAME_AS(__read, read);

INTERPOSE(ssize_t, __read_chk, (int fd, void *buf, size_t size, size_t room))
{
    struct call call = call_begin(OP_read);
    ssize_t moved = NEXT(__read_chk)(fd, buf, size, room);
    call_stop(&call);
    return call_read(&call, fd, NO_OFFSET, moved);
}

INTERPOSE(ssize_t, pread, (int fd, void *buf, size_t size, off_t offset))
{
    struct call call = call_begin(OP_pread);
    ssize_t moved = NEXT(pread)(fd, buf, size, offset);
    call_stop(&call);
    return call_read(&call, fd, offset, moved);
}
SAME_AS(pread64, pread); /* off_t is 64 bits wherever we build */
SAME_AS(__pread64, pread);

INTERPOSE(ssize_t, __pread_chk, (int fd, void *buf, size_t size, off_t offset, size_t room))
{
    struct call call = call_begin(OP_pread);
    ssize_t moved = NEXT(__pread_chk)(fd, buf, size, offset, room);
    call_stop(&call);
    return call_read(&call, fd, offset, moved);
}
SAME_AS(__pread64_chk, __pread_chk);

INTERPOSE(ssize_t, readv, (int fd, const struct iovec *parts, int count))
{
    struct call call = call_begin(OP_readv);
    ssize_t moved = NEXT(readv)(fd, parts, count);
    call_stop(&call);
    return call_read(&call, fd, NO_OFFSET, moved);
}

INTERPOSE(ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t offset))
{
    struct call call = call_begin(OP_preadv);
    ssize_t moved = NEXT(preadv)(fd, parts, count, offset);
    call_stop(&call);
    return call_read(&call, fd, offset, moved);
}
SAME_AS(preadv64, preadv);

INTERPOSE(ssize_t, preadv2, (int fd, const struct iovec *parts, int count, off_t offset, int flags))
{
    struct call call = call_begin(OP_preadv);
    ssize_t moved = NEXT(preadv2)(fd, parts, count, offset, flags);
    call_stop(&call);
    return call_read(&call, fd, offset == -1 ? NO_OFFSET : offset, moved);
}
SAME_AS(preadv64v2, preadv2);

INTERPOSE(ssize_t, write, (int fd, const void *buf, size_t size))
{
    struct call call = call_begin(OP_write);
    ssize_t moved = NEXT(write)(fd, buf, size);
    call_stop(&call);
    return call_wrote(&call, fd, NO_OFFSET, moved);
}
SAME_AS(__write, write);

INTERPOSE(ssize_t, pwrite, (int fd, const void *buf, size_t size, off_t offset))
{
    struct call call = call_begin(OP_pwrite);
    ssize_t moved = NEXT(pwrite)(fd, buf, size, offset);
    call_stop(&call);
    return call_wrote(&call, fd, offset, moved);
}
SAME_AS(pwrite64, pwrite);
SAME_AS(__pwrite64, pwrite);

INTERPOSE(ssize_t, writev, (int fd, const struct iovec *parts, int count))
{
    struct call call = call_begin(OP_writev);
    ssize_t moved = NEXT(writev)(fd, parts, count);
    call_stop(&call);
    return call_wrote(&call, fd, NO_OFFSET, moved);
}

INTERPOSE(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t offset))
{
    struct call call = call_begin(OP_pwritev);
    ssize_t moved = NEXT(pwritev)(fd, parts, count, offset);
    call_stop(&call);
    return call_wrote(&call, fd, offset, moved);
}
SAME_AS(pwritev64, pwritev);

INTERPOSE(ssize_t, pwritev2, (int fd, const struct iovec *parts, int count, off_t offset, int flags))
{
    struct call call = call_begin(OP_pwritev);
    ssize_t moved = NEXT(pwritev2)(fd, parts, count, offset, flags);
    call_stop(&call);
    return call_wrote(&call, fd, offset == -1 ? NO_OFFSET : offset, moved);
}
SAME_AS(pwritev64v2, pwritev2);

void posix_gate_writes(const struct posix_writes *gates)
{
    ENTRY_GATE(write, gates->write);
    ENTRY_GATE(__write, gates->write);
    ENTRY_GATE(pwrite, gates->pwrite);
    ENTRY_GATE(pwrite64, gates->pwrite);
    ENTRY_GATE(__pwrite64, gates->pwrite);
    ENTRY_GATE(writev, gates->writev);
    ENTRY_GATE(pwritev, gates->pwritev);
    ENTRY_GATE(pwritev64, gates->pwritev);
    ENTRY_GATE(pwritev2, gates->pwritev2);
    ENTRY_GATE(pwritev64v2, gates->pwritev2);
}

void posix_gate_reads(const struct posix_reads *gates)
{
    ENTRY_GATE(read, gates->read);
    ENTRY_GATE(__read, gates->read);
    ENTRY_GATE(pread, gates->pread);
    ENTRY_GATE(pread64, gates->pread);
    ENTRY_GATE(__pread64, gates->pread);
    ENTRY_GATE(readv, gates->readv);
    ENTRY_GATE(preadv, gates->preadv);
    ENTRY_GATE(preadv64, gates->preadv);
}

INTERPOSE(off_t, lseek, (int fd, off_t offset, int whence))
{
    struct call call = call_begin(OP_lseek);
    off_t position = NEXT(lseek)(fd, offset, whence);
    call_stop(&call);
    return call_sought(&call, fd, position);
}
SAME_AS(lseek64, lseek);
SAME_AS(__lseek, lseek);

INTERPOSE(int, fsync, (int fd))
{
    struct call call = call_begin(OP_fsync);
    int failed = NEXT(fsync)(fd);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, fdatasync, (int fd))
{
    struct call call = call_begin(OP_fdatasync);
    int failed = NEXT(fdatasync)(fd);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}


INTERPOSE(int, unlink, (const char *path))
{
    struct call call = call_begin(OP_unlink);
    int failed = REAL(unlink)(path);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, unlinkat, (int dirfd, const char *path, int flags))
{
    struct call call = call_begin(OP_unlinkat);
    int failed = REAL(unlinkat)(dirfd, path, flags);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, rename, (const char *from, const char *to))
{
    struct call call = call_begin(OP_rename);
    int failed = REAL(rename)(from, to);
    call_end(&call);
    call_named(&call, AT_FDCWD, to, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, renameat, (int from_dirfd, const char *from, int to_dirfd, const char *to))
{
    struct call call = call_begin(OP_renameat);
    int failed = REAL(renameat)(from_dirfd, from, to_dirfd, to);
    call_end(&call);
    call_named(&call, to_dirfd, to, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, renameat2, (int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags))
{
    struct call call = call_begin(OP_renameat);
    int failed = REAL(renameat2)(from_dirfd, from, to_dirfd, to, flags);
    call_end(&call);
    call_named(&call, to_dirfd, to, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, mkdir, (const char *path, mode_t mode))
{
    struct call call = call_begin(OP_mkdir);
    int failed = REAL(mkdir)(path, mode);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, mkdirat, (int dirfd, const char *path, mode_t mode))
{
    struct call call = call_begin(OP_mkdirat);
    int failed = REAL(mkdirat)(dirfd, path, mode);
    call_end(&call);
    call_named(&call, dirfd, path, failed != 0);
    call_close(&call);
    return failed;
}
