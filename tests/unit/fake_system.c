#include "fake_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { SYS_STATMOUNT = 457 };

struct fake_system fake_system;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
void __real_vdso_clock(clockid_t id, struct timespec *now);
void __wrap_vdso_clock(clockid_t id, struct timespec *now);

void fake_system_reset(void)
{
    fake_system = (struct fake_system){ .failing_syscall = -1, .counted_syscall = -1 };
}

void __wrap_vdso_clock(clockid_t id, struct timespec *now)
{
    if (!fake_system.has_clock) {
        __real_vdso_clock(id, now);
        return;
    }
    uint64_t ns = id == CLOCK_REALTIME ? fake_system.realtime_ns : fake_system.monotonic_ns;
    fake_system.realtime_ns += fake_system.ns_a_reading;
    fake_system.monotonic_ns += fake_system.ns_a_reading;
    *now = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };
}

static long fail(int error)
{
    errno = error;
    return -1;
}

static bool is_allowed(long dirfd, const char *path)
{
    const char *below = fake_system.writable_below;
    char link[64], full[8192];
    if (below == NULL)
        return true;
    if (path[0] != '/' && dirfd != AT_FDCWD) {
        snprintf(link, sizeof link, "/proc/self/fd/%ld", dirfd);
        ssize_t length = readlink(link, full, sizeof full / 2);
        if (length < 0)
            return false;
        snprintf(full + length, sizeof full - (size_t)length, "/%s", path);
        path = full;
    }
    return strncmp(path, below, strlen(below)) == 0 && strstr(path, "/../") == NULL;
}

static const char *stand_in(const char *path)
{
    if (fake_system.mountinfo != NULL && strcmp(path, "/proc/self/mountinfo") == 0)
        return fake_system.mountinfo;
    if (fake_system.self_maps != NULL && strcmp(path, "/proc/self/maps") == 0)
        return fake_system.self_maps;
    if (fake_system.self_io != NULL && strcmp(path, "/proc/self/io") == 0)
        return fake_system.self_io;
    return path;
}

static long write_while_there_is_room(int fd, const struct iovec *parts, int count)
{
    uint64_t written = 0;
    for (int i = 0; i < count; i++) {
        uint64_t size = parts[i].iov_len < fake_system.disk_room ? parts[i].iov_len : fake_system.disk_room;
        if (size > 0 && write(fd, parts[i].iov_base, size) != (ssize_t)size)
            return fail(EIO);
        fake_system.disk_room -= size;
        written += size;
    }
    return written > 0 ? (long)written : fail(ENOSPC);
}

static long read_in_halves(int fd, char *buffer, size_t size, long offset)
{
    void (*amid)(void *) = fake_system.amid_read;
    long half = pread(fd, buffer, size / 2, offset);
    fake_system.amid_read = NULL;
    amid(fake_system.amid_read_argument);
    return half + pread(fd, buffer + half, size - (size_t)half, offset + half);
}

/* Takes six arguments whatever the call has, as libc's own does. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
    long argument[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(arguments, long);
    va_end(arguments);

    if (number == fake_system.counted_syscall)
        __atomic_fetch_add(&fake_system.times, 1, __ATOMIC_RELAXED);
    if (number == fake_system.failing_syscall)
        return fail(fake_system.error);
    if (number == SYS_STATMOUNT && fake_system.mountinfo != NULL) /* the list alone tells what a test made up */
        return fail(ENOSYS);
    if (number == SYS_getrusage && fake_system.self_io != NULL) {
        *(struct rusage *)argument[1] = (struct rusage){ 0 };
        return 0;
    }
    if (number == SYS_pread64 && fake_system.amid_read != NULL && (uint64_t)argument[3] == fake_system.amid_read_at)
        return read_in_halves((int)argument[0], (char *)argument[1], (size_t)argument[2], argument[3]);
    if (number == SYS_openat) {
        const char *path = (const char *)argument[1];
        if ((argument[2] & O_ACCMODE) != O_RDONLY && !is_allowed(argument[0], path))
            return fail(EACCES);
        argument[1] = (long)stand_in(path);
    }
    if (number == SYS_mkdirat && !is_allowed(argument[0], (const char *)argument[1]))
        return fail(EACCES);
    if (number == SYS_writev && fake_system.is_disk_full)
        return write_while_there_is_room((int)argument[0], (const struct iovec *)argument[1], (int)argument[2]);
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
