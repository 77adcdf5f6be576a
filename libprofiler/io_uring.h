/* io_uring's rings, wherever they are seen: by liburing's functions or by system calls made by number (syscall.c), which map the rings
 * themselves (mmap.c). */
#ifndef SLICEWISE_IO_URING_H
#define SLICEWISE_IO_URING_H

#include "request.h"

#include <linux/io_uring.h>

/* A ring came to be, or not (fd -1); the program maps it next. */
void uring_set_up(const struct call *call, int fd, const struct io_uring_params *params);

/* Some mapping of a descriptor; it goes away. */
void uring_mapped(int fd, int64_t offset, void *address);
void uring_unmaps(const void *address);

/* Before and after the kernel is entered. The first one tells whether the ring is known, and its memory is there. */
bool uring_begin(const struct call *call, int fd);
void uring_entered(const struct call *call, int fd, bool is_known, long result);

/* Files got numbers in a ring, from 0 on. */
void uring_registered(int ring_fd, const int *files, unsigned count);

/* The same on a ring of liburing's, of which any function may be the first to tell; and before it goes. */
struct liburing_ring;
void uring_begin_on(const struct call *call, const struct liburing_ring *owner);
void uring_entered_on(const struct call *call, const struct liburing_ring *owner, int result);
void uring_registered_on(const struct liburing_ring *owner, const int *files, unsigned count);
void uring_exits_on(const struct liburing_ring *owner);

#endif
