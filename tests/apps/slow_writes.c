/* A library to preload behind ours: each write takes 30 ms longer. */
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *buf, size_t size)
{
    usleep(30000);
    return NEXT(write)(fd, buf, size);
}

ssize_t pwrite(int fd, const void *buf, size_t size, off_t offset)
{
    usleep(30000);
    return NEXT(pwrite)(fd, buf, size, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t size, off_t offset)
{
    usleep(30000);
    return NEXT(pwrite64)(fd, buf, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    usleep(30000);
    return NEXT(pwritev)(fd, parts, count, offset);
}
