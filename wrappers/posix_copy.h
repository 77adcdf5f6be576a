/* Calls that copy within the kernel, whether made by name or by number. */
#ifndef SLICEWISE_POSIX_COPY_H
#define SLICEWISE_POSIX_COPY_H

#include "interpose.h"

#include <sys/types.h>

/* Where it began, by where it ended: the kernel has moved the offset, and read it where we could only have crashed. */
static inline int64_t copy_beginning(const off_t *offset, ssize_t moved)
{
    return offset != NULL && moved >= 0 ? *offset - moved : NO_OFFSET;
}

/* A wrapper of a call that copies `size` bytes. Where they began is asked for when the call has moved the offsets. */
#define COPIED(name, parameters, arguments, from_began, to_began) \
    INTERPOSE(ssize_t, name, parameters) \
    { \
        uint64_t fetched = call_fetched(size); \
        struct call call = call_begin(OP_##name); \
        ssize_t result = NEXT(name) arguments; \
        call_end(&call); \
        call_copied(&call, from, from_began, to, to_began, result, fetched); \
        call_close(&call); \
        return result; \
    }

/* Counts a vmsplice: which way the bytes went depends on which end of the pipe it was. */
void copy_gave_pages(const struct call *call, int fd, ssize_t moved);

#endif
