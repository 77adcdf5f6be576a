/* A library that is preloaded behind ours: the node's clock, set forth and back by the nanoseconds in the file $CLOCK_OFFSET. */
#include "kernels_clock.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const volatile int64_t *offset_ns;

static const volatile int64_t *map_offset(void)
{
    static const int64_t none;
    int fd = getenv("CLOCK_OFFSET") != NULL ? (int)syscall(SYS_openat, AT_FDCWD, getenv("CLOCK_OFFSET"), O_RDONLY) : -1;
    void *mapped = fd >= 0 ? mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        syscall(SYS_close, fd);
    return mapped != MAP_FAILED ? mapped : &none;
}

int clock_of_kernel(clockid_t id, struct timespec *now)
{
    if (syscall(SYS_clock_gettime, id, now) != 0)
        return -1;
    if (id != CLOCK_REALTIME)
        return 0;
    if (offset_ns == NULL)
        offset_ns = map_offset();
    int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + *offset_ns;
    *now = (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
    return 0;
}
