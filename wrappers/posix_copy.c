/* POSIX calls that copy from descriptor to descriptor, without the bytes ever being the program's: each is a read of the one and a write of
 * the other, whatever they lead to; and those between memory and a pipe, or text and a descriptor. */
#include "interpose.h"
#include "posix_copy.h"
#include "fast_path.h"

#include <stdarg.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

COPIED(sendfile, (int to, int from, off_t *offset, size_t size), (to, from, offset, size), copy_beginning(offset, result), NO_OFFSET)
SAME_AS(sendfile64, sendfile);
COPIED(copy_file_range, (int from, off_t *from_offset, int to, off_t *to_offset, size_t size, unsigned flags),
       (from, from_offset, to, to_offset, size, flags), copy_beginning(from_offset, result), copy_beginning(to_offset, result))
COPIED(splice, (int from, off_t *from_offset, int to, off_t *to_offset, size_t size, unsigned flags),
       (from, from_offset, to, to_offset, size, flags), copy_beginning(from_offset, result), copy_beginning(to_offset, result))
COPIED(tee, (int from, int to, size_t size, unsigned flags), (from, to, size, flags), NO_OFFSET, NO_OFFSET)

void copy_gave_pages(const struct call *call, int fd, ssize_t moved)
{
    if (raw_is_read_only(fd))
        call_read(call, fd, NO_OFFSET, moved);
    else
        call_wrote(call, fd, NO_OFFSET, moved);
}

INTERPOSE(ssize_t, vmsplice, (int fd, const struct iovec *parts, size_t count, unsigned flags))
{
    struct call call = call_begin(OP_vmsplice);
    ssize_t moved = REAL(vmsplice)(fd, parts, count, flags);
    call_end(&call);
    copy_gave_pages(&call, fd, moved);
    call_close(&call);
    return moved;
}

COUNTED(dprintf, int, vdprintf, (int fd, const char *format, va_list arguments), (fd, format, arguments), wrote, fd, NO_OFFSET, result)
COUNTED(dprintf, int, __vdprintf_chk, (int fd, int flag, const char *format, va_list arguments), (fd, flag, format, arguments),
        wrote, fd, NO_OFFSET, result)

INTERPOSE(int, dprintf, (int fd, const char *format, ...))
{
    FORWARD(format, OWN(vdprintf)(fd, format, arguments));
}

INTERPOSE(int, __dprintf_chk, (int fd, int flag, const char *format, ...))
{
    FORWARD(format, OWN(__vdprintf_chk)(fd, flag, format, arguments));
}
