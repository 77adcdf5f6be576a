/* Gates in front of POSIX reads and writes (burst.h). */
#include "burst.h"
#include "coordinate.h"
#include "peek.h"

#include <sys/uio.h>

/* A list of parts that cannot be read is for the kernel to refuse. */
static uint64_t bytes_of(const struct iovec *parts, int count)
{
    struct iovec copy[64];
    uint64_t bytes = 0;
    for (int at = 0, some; at < count; at += some) {
        some = count - at < 64 ? count - at : 64;
        if (!peek((uintptr_t)(parts + at), copy, (size_t)some * sizeof *copy))
            return 0;
        for (int i = 0; i < some; i++)
            bytes += copy[i].iov_len;
    }
    return bytes;
}

/* ARGUMENTS: how the wrapper is called; `bytes` is what the call asks for. */
#define GATE(name, parameters, bytes, ...) \
    static ssize_t(*next_##name) parameters; \
    static ssize_t gate_##name parameters \
    { \
        uint64_t asked = bytes; \
        enum burst entered = burst_enter(fd, asked); \
        ssize_t moved = next_##name(__VA_ARGS__); \
        burst_leave(entered, asked, moved); \
        return moved; \
    }
GATE(write, (int fd, const void *buf, size_t size), size, fd, buf, size)
GATE(pwrite, (int fd, const void *buf, size_t size, off_t offset), size, fd, buf, size, offset)
GATE(writev, (int fd, const struct iovec *parts, int count), bytes_of(parts, count), fd, parts, count)
GATE(pwritev, (int fd, const struct iovec *parts, int count, off_t offset), bytes_of(parts, count), fd, parts, count, offset)
GATE(pwritev2, (int fd, const struct iovec *parts, int count, off_t offset, int flags), bytes_of(parts, count), fd, parts, count, offset, flags)
GATE(read, (int fd, void *buf, size_t size), size, fd, buf, size)
GATE(pread, (int fd, void *buf, size_t size, off_t offset), size, fd, buf, size, offset)
GATE(readv, (int fd, const struct iovec *parts, int count), bytes_of(parts, count), fd, parts, count)
GATE(preadv, (int fd, const struct iovec *parts, int count, off_t offset), bytes_of(parts, count), fd, parts, count, offset)

static int (*next_close)(int fd);
static int gate_close(int fd)
{
    burst_closing(fd);
    return next_close(fd);
}

void burst_put_gates_for_posix(void)
{
    PUT_GATE(write, write);
    PUT_GATE(__write, write);
    PUT_GATE(pwrite, pwrite);
    PUT_GATE(pwrite64, pwrite);
    PUT_GATE(__pwrite64, pwrite);
    PUT_GATE(writev, writev);
    PUT_GATE(pwritev, pwritev);
    PUT_GATE(pwritev64, pwritev);
    PUT_GATE(pwritev2, pwritev2);
    PUT_GATE(pwritev64v2, pwritev2);
    if (coordinate_has_reads()) {
        PUT_GATE(read, read);
        PUT_GATE(__read, read);
        PUT_GATE(pread, pread);
        PUT_GATE(pread64, pread);
        PUT_GATE(__pread64, pread);
        PUT_GATE(readv, readv);
        PUT_GATE(preadv, preadv);
        PUT_GATE(preadv64, preadv);
    }
    if (coordinate_step() == TURN_STEP_file) {
        PUT_GATE(close, close);
        PUT_GATE(__close, close);
    }
}
