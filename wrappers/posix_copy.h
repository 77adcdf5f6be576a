/* Calls that copy within the kernel, whether made by name or by number. */
#ifndef SLICEWISE_POSIX_COPY_H
#define SLICEWISE_POSIX_COPY_H

#include "engine.h"

#include <sys/types.h>

/* Where it began, by where it ended: the kernel has moved the offset, and read it where we could only have crashed. */
static inline int64_t copy_beginning(const off_t *offset, ssize_t moved)
{
    return offset != NULL && moved >= 0 ? *offset - moved : NO_OFFSET;
}

/* Counts a vmsplice: which way the bytes went depends on which end of the pipe it was. */
void copy_gave_pages(const struct call *call, int fd, ssize_t moved);

#endif
