/* POSIX calls on where bytes lie: room for them, what should be read ahead or forgotten, and waiting until they are stored. */
#include "interpose.h"

INTERPOSE(int, truncate, (const char *path, off_t size))
{
    struct call call = call_begin(OP_truncate);
    int failed = REAL(truncate)(path, size);
    call_end(&call);
    call_named(&call, AT_FDCWD, path, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(truncate64, truncate);

INTERPOSE(int, ftruncate, (int fd, off_t size))
{
    struct call call = call_begin(OP_ftruncate);
    int failed = REAL(ftruncate)(fd, size);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(ftruncate64, ftruncate);

INTERPOSE(int, fallocate, (int fd, int mode, off_t offset, off_t size))
{
    struct call call = call_begin(OP_fallocate);
    int failed = REAL(fallocate)(fd, mode, offset, size);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(fallocate64, fallocate);

INTERPOSE(int, posix_fallocate, (int fd, off_t offset, off_t size))
{
    struct call call = call_begin(OP_fallocate);
    int error = REAL(posix_fallocate)(fd, offset, size);
    call_end(&call);
    call_touched(&call, fd, error != 0);
    call_close(&call);
    return error;
}
SAME_AS(posix_fallocate64, posix_fallocate);

INTERPOSE(ssize_t, readahead, (int fd, off_t offset, size_t size))
{
    struct call call = call_begin(OP_readahead);
    ssize_t failed = REAL(readahead)(fd, offset, size);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, posix_fadvise, (int fd, off_t offset, off_t size, int advice))
{
    struct call call = call_begin(OP_posix_fadvise);
    int error = REAL(posix_fadvise)(fd, offset, size, advice);
    call_end(&call);
    call_touched(&call, fd, error != 0);
    call_close(&call);
    return error;
}
SAME_AS(posix_fadvise64, posix_fadvise);

INTERPOSE(int, sync_file_range, (int fd, off_t offset, off_t size, unsigned flags))
{
    struct call call = call_begin(OP_sync_file_range);
    int failed = REAL(sync_file_range)(fd, offset, size, flags);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(int, syncfs, (int fd))
{
    struct call call = call_begin(OP_syncfs);
    int failed = REAL(syncfs)(fd);
    call_end(&call);
    call_touched(&call, fd, failed != 0);
    call_close(&call);
    return failed;
}

/* All file systems, so none in particular. */
INTERPOSE(void, sync, (void))
{
    struct call call = call_begin(OP_sync);
    REAL(sync)();
    call_end(&call);
    call_touched_descriptor(&call, 0, false);
    call_close(&call);
}
