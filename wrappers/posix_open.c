/* POSIX calls that make, copy and close descriptors. */
#include "descriptor.h"
#include "files.h"
#include "interpose.h"

#include <stdarg.h>

/* The mode is among the arguments only if a file may be made. */
#define MODE_OF(flags) \
    __extension__({ \
        unsigned mode_given = 0; \
        if (((flags) & O_CREAT) != 0 || ((flags) & O_TMPFILE) == O_TMPFILE) { \
            va_list arguments; \
            va_start(arguments, flags); \
            mode_given = va_arg(arguments, unsigned); \
            va_end(arguments); \
        } \
        mode_given; \
    })

/* Before the file is used. A file that did not exist, or that was not to be found by a link, has the name that it was opened by. */
static void note_flags_of(int fd, int flags)
{
    if (__builtin_expect((flags & (O_EXCL | O_NOFOLLOW)) != 0, 0) && fd >= 0 && (flags & (O_CREAT | O_NOFOLLOW)) != 0)
        descriptor_is_no_link(fd);
}

INTERPOSE(int, open, (const char *path, int flags, ...))
{
    unsigned mode = MODE_OF(flags);
    files_note_flags(flags);
    struct call call = call_begin(OP_open);
    int fd = NEXT(open)(path, flags, mode);
    call_end(&call);
    call_opened(&call, fd, AT_FDCWD, path);
    note_flags_of(fd, flags);
    call_close(&call);
    return fd;
}

/* O_LARGEFILE is implied wherever off_t is 64 bits by itself. */
SAME_AS(open64, open);
SAME_AS(__open, open);
SAME_AS(__open64, open);
COUNTED(open, int, __open_2, (const char *path, int flags), (path, files_note_flags(flags)), opened, result, AT_FDCWD, path)
SAME_AS(__open64_2, __open_2);

INTERPOSE(int, openat, (int dirfd, const char *path, int flags, ...))
{
    unsigned mode = MODE_OF(flags);
    files_note_flags(flags);
    struct call call = call_begin(OP_openat);
    int fd = NEXT(openat)(dirfd, path, flags, mode);
    call_end(&call);
    call_opened(&call, fd, dirfd, path);
    note_flags_of(fd, flags);
    call_close(&call);
    return fd;
}
SAME_AS(openat64, openat);
COUNTED(openat, int, __openat_2, (int dirfd, const char *path, int flags), (dirfd, path, files_note_flags(flags)), opened, result, dirfd, path)
SAME_AS(__openat64_2, __openat_2);
COUNTED(creat, int, creat, (const char *path, mode_t mode), (path, mode), opened, result, AT_FDCWD, path)
SAME_AS(creat64, creat);

/* What it led to is asked before: afterwards another thread may have the number already. */
INTERPOSE(int, close, (int fd))
{
    descriptor closed = descriptor_release(fd);
    struct call call = call_begin(OP_close);
    int failed = NEXT(close)(fd);
    call_end(&call);
    call_touched_descriptor(&call, closed, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(__close, close);

INTERPOSE(int, close_range, (unsigned first, unsigned last, int flags))
{
    descriptor_release_range(first, last);
    struct call call = call_begin(OP_close_range);
    int failed = REAL(close_range)(first, last, flags);
    call_end(&call);
    call_touched_descriptor(&call, 0, failed != 0);
    call_close(&call);
    return failed;
}

INTERPOSE(void, closefrom, (int first))
{
    descriptor_release_range(first > 0 ? (unsigned)first : 0, ~0u);
    struct call call = call_begin(OP_close_range);
    REAL(closefrom)(first);
    call_end(&call);
    call_touched_descriptor(&call, 0, false);
    call_close(&call);
}

INTERPOSE(int, dup, (int fd))
{
    struct call call = call_begin(OP_dup);
    int copy = REAL(dup)(fd);
    call_end(&call);
    descriptor_copied(fd, copy);
    call_touched(&call, fd, copy < 0);
    call_close(&call);
    return copy;
}

INTERPOSE(int, dup2, (int fd, int wanted))
{
    struct call call = call_begin(OP_dup2);
    int copy = REAL(dup2)(fd, wanted);
    call_end(&call);
    descriptor_copied(fd, copy);
    call_touched(&call, fd, copy < 0);
    call_close(&call);
    return copy;
}
SAME_AS(__dup2, dup2);

INTERPOSE(int, dup3, (int fd, int wanted, int flags))
{
    struct call call = call_begin(OP_dup2);
    int copy = REAL(dup3)(fd, wanted, flags);
    call_end(&call);
    descriptor_copied(fd, copy);
    call_touched(&call, fd, copy < 0);
    call_close(&call);
    return copy;
}

/* The third argument is a word whatever the command: an int, a pointer, or not there. */
INTERPOSE(int, fcntl, (int fd, int command, ...))
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct call call = call_begin(OP_fcntl);
    int result = REAL(fcntl)(fd, command, argument);
    call_end(&call);
    if (command == F_SETFL && (files_note_flags((int)(intptr_t)argument) & FILES_PAST_CACHE) != 0)
        call_set_flags(fd);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        descriptor_copied(fd, result);
    call_touched(&call, fd, result < 0);
    call_close(&call);
    return result;
}
SAME_AS(fcntl64, fcntl);
SAME_AS(__fcntl, fcntl);
