/* A library to preload behind ours: each write takes 30 ms longer, or PAUSE_US; those of up to LEAST_BYTES do not. */
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PAUSE_US
#define PAUSE_US 30000
#endif
#ifndef LEAST_BYTES
#define LEAST_BYTES 0
#endif
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *buf, size_t size)
{
    if (size > LEAST_BYTES)
        usleep(PAUSE_US);
    return NEXT(write)(fd, buf, size);
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t offset)
{
    if (size > LEAST_BYTES)
        usleep(PAUSE_US);
    return NEXT(pwrite)(fd, buf, size, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t size, off_t offset)
{
    if (size > LEAST_BYTES)
        usleep(PAUSE_US);
    return NEXT(pwrite64)(fd, buf, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    usleep(PAUSE_US);
    return NEXT(pwritev)(fd, parts, count, offset);
}
