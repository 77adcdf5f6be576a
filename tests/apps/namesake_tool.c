/* A tool that a program is linked with: it forwards what it stands in front of, and so do we in front of it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int forwarded;

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    forwarded++;
    return NEXT(open)(path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size)
{
    forwarded++;
    return NEXT(write)(fd, data, size);
}

ssize_t read(int fd, void *data, size_t size)
{
    forwarded++;
    return NEXT(read)(fd, data, size);
}

int close(int fd)
{
    forwarded++;
    return NEXT(close)(fd);
}

int remove(const char *path)
{
    forwarded++;
    return NEXT(remove)(path);
}

__attribute__((destructor)) static void tell(void)
{
    dprintf(1, "forwarded %d\n", forwarded);
}
