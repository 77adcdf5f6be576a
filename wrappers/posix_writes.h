/* The wrappers of POSIX writes, for what is put in front of them. */
#ifndef SLICEWISE_POSIX_WRITES_H
#define SLICEWISE_POSIX_WRITES_H

#include "interpose.h"

#include <sys/types.h>
#include <sys/uio.h>

HIDDEN ssize_t wrapper_write(int fd, const void *buf, size_t size);
HIDDEN ssize_t wrapper_pwrite(int fd, const void *buf, size_t size, off_t offset);
HIDDEN ssize_t wrapper_writev(int fd, const struct iovec *parts, int count);
HIDDEN ssize_t wrapper_pwritev(int fd, const struct iovec *parts, int count, off_t offset);

struct posix_writes {
    ssize_t (*write)(int fd, const void *buf, size_t size);
    ssize_t (*pwrite)(int fd, const void *buf, size_t size, off_t offset);
    ssize_t (*writev)(int fd, const struct iovec *parts, int count);
    ssize_t (*pwritev)(int fd, const struct iovec *parts, int count, off_t offset);
};

/* From now on calls of these names, where they would come to our wrappers, come to the gates, which call these. */
HIDDEN void posix_gate_writes(const struct posix_writes *gates);

#endif
