/* POSIX calls on where bytes lie: room for them, what should be read ahead or forgotten, and waiting until they are stored. */
#include "interpose.h"

COUNTED(truncate, int, truncate, (const char *path, off_t size), (path, size), named, AT_FDCWD, path, result != 0)
SAME_AS(truncate64, truncate);
COUNTED(ftruncate, int, ftruncate, (int fd, off_t size), (fd, size), touched, fd, result != 0)
SAME_AS(ftruncate64, ftruncate);
COUNTED(fallocate, int, fallocate, (int fd, int mode, off_t offset, off_t size), (fd, mode, offset, size), touched, fd, result != 0)
SAME_AS(fallocate64, fallocate);
COUNTED(fallocate, int, posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size), touched, fd, result != 0)
SAME_AS(posix_fallocate64, posix_fallocate);
COUNTED(readahead, ssize_t, readahead, (int fd, off_t offset, size_t size), (fd, offset, size), touched, fd, result != 0)
COUNTED(posix_fadvise, int, posix_fadvise, (int fd, off_t offset, off_t size, int advice), (fd, offset, size, advice), touched, fd, result != 0)
SAME_AS(posix_fadvise64, posix_fadvise);
COUNTED(sync_file_range, int, sync_file_range, (int fd, off_t offset, off_t size, unsigned flags), (fd, offset, size, flags),
        touched, fd, result != 0)
COUNTED(syncfs, int, syncfs, (int fd), (fd), touched, fd, result != 0)

/* All file systems, so none in particular. */
INTERPOSE(void, sync, (void))
{
    struct call call = call_begin(OP_sync);
    REAL(sync)();
    call_end(&call);
    call_touched_descriptor(&call, 0, false);
    call_close(&call);
}
