/* System calls as the profiler itself makes them: past our own wrappers, past libc's allocation and stdio. Each returns its result or
 * -errno. They may change errno: whoever runs inside an application's call keeps and restores it (call_end, call_close). */
#ifndef SLICEWISE_RAW_H
#define SLICEWISE_RAW_H

#include "own_errno.h"
#include "valgrind.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif
#ifndef MADV_POPULATE_WRITE /* the headers of many systems are older than it */
#define MADV_POPULATE_WRITE 23
#endif

/* What the profiler itself read and wrote: the kernel counts it as the process's. */
struct own_io {
    uint64_t read_bytes, write_bytes, reads, writes;
    uint64_t spool_bytes; /* of the bytes written those that are profiles */
};
extern struct own_io own_io;

static inline long raw_result(long result)
{
    return result == -1 ? -errno_now() : result;
}

static inline int raw_open_at(int dirfd, const char *path, int flags, unsigned mode)
{
    return (int)raw_result(syscall(SYS_openat, dirfd, path, flags | O_CLOEXEC, mode));
}

static inline int raw_open(const char *path, int flags, unsigned mode)
{
    return raw_open_at(AT_FDCWD, path, flags, mode);
}

/* Only if the kernel finds it without asking anybody; to look at, not to read. As on an old kernel in a valgrind, which may not know the call, and
 * then says so on the program's stderr. */
static inline int raw_open_known(const char *path, int flags, uint64_t resolve)
{
    if (valgrind_is_here())
        return -ENOSYS;
    const struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = RESOLVE_CACHED | resolve };
    return (int)raw_result(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

static inline void raw_close(int fd)
{
    syscall(SYS_close, fd);
}

static inline long raw_read(int fd, void *buffer, size_t size)
{
    long got = raw_result(syscall(SYS_read, fd, buffer, size));
    own_io.reads++;
    own_io.read_bytes += got > 0 ? (uint64_t)got : 0;
    return got;
}

static inline long raw_read_at(int fd, void *buffer, size_t size, uint64_t offset)
{
    long got = raw_result(syscall(SYS_pread64, fd, buffer, size, offset));
    own_io.reads++;
    own_io.read_bytes += got > 0 ? (uint64_t)got : 0;
    return got;
}

static inline long raw_write_at(int fd, const void *buffer, size_t size, uint64_t offset)
{
    long written = raw_result(syscall(SYS_pwrite64, fd, buffer, size, offset));
    own_io.writes++;
    own_io.write_bytes += written > 0 ? (uint64_t)written : 0;
    return written;
}

static inline long raw_writev(int fd, const struct iovec *parts, int count)
{
    long written = raw_result(syscall(SYS_writev, fd, parts, count));
    own_io.writes++;
    own_io.write_bytes += written > 0 ? (uint64_t)written : 0;
    return written;
}

static inline int raw_mkdir_at(int dirfd, const char *path, unsigned mode)
{
    return (int)raw_result(syscall(SYS_mkdirat, dirfd, path, mode));
}

static inline int raw_mkdir(const char *path, unsigned mode)
{
    return raw_mkdir_at(AT_FDCWD, path, mode);
}

static inline int raw_unlink_at(int dirfd, const char *path)
{
    return (int)raw_result(syscall(SYS_unlinkat, dirfd, path, 0));
}

static inline int raw_unlink(const char *path)
{
    return raw_unlink_at(AT_FDCWD, path);
}

/* Private memory of zeros, which is there as far as it is touched; NULL: there is none. */
static inline void *raw_memory(size_t bytes)
{
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

/* Whatever the umask says. */
static inline int raw_chmod_fd(int fd, unsigned mode)
{
    return (int)raw_result(syscall(SYS_fchmod, fd, mode));
}

static inline int raw_truncate_fd(int fd, uint64_t size)
{
    return (int)raw_result(syscall(SYS_ftruncate, fd, size));
}

static inline long raw_readlink(const char *path, char *buffer, size_t size)
{
    return raw_result(syscall(SYS_readlinkat, AT_FDCWD, path, buffer, size));
}

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u
#endif

/* A stat as the kernel gives it: one layout on every architecture, whatever glibc calls its own. It asks no server. */
static inline int raw_statx(int dirfd, const char *path, int flags, struct statx *status)
{
    const unsigned wanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_NLINK | STATX_SIZE | STATX_INO | STATX_BTIME | STATX_MNT_ID_UNIQUE;
    return (int)raw_result(syscall(SYS_statx, dirfd, path, flags | AT_STATX_DONT_SYNC, wanted, status));
}

/* The same of what a descriptor leads to. By an empty name: no name at all, which new kernels take as well, is a bad pointer to valgrind. */
static inline int raw_statx_descriptor(int fd, struct statx *status)
{
    return raw_statx(fd, "", AT_EMPTY_PATH, status);
}

/* Also of an end of a pipe. */
static inline bool raw_is_read_only(int fd)
{
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

static inline int raw_gettid(void)
{
    return (int)syscall(SYS_gettid);
}

/* libc's own functions for these lie on pages that a short process touches for nothing else. */
static inline unsigned raw_getuid(void)
{
    return (unsigned)syscall(SYS_getuid);
}

static inline unsigned raw_geteuid(void)
{
    return (unsigned)syscall(SYS_geteuid);
}

static inline unsigned raw_getgid(void)
{
    return (unsigned)syscall(SYS_getgid);
}

static inline int raw_getrusage(int who, struct rusage *usage)
{
    return (int)raw_result(syscall(SYS_getrusage, who, usage));
}

/* Not cached, unlike what a forked or vforked child would need not to be. */
static inline int raw_getpid(void)
{
    return (int)syscall(SYS_getpid);
}

/* Whether a file may have that size: beyond RLIMIT_FSIZE the kernel would not just refuse, but send a deadly signal. */
static inline bool raw_may_grow_to(uint64_t bytes)
{
    struct rlimit limit;
    return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* Reads a file of the kernel's, which gives all of it at once, as far as there is room, and ends it with a 0. Returns the bytes read; 0: none could
 * be. */
static inline size_t raw_read_at_once(const char *path, char *buffer, size_t room)
{
    int fd = raw_open(path, O_RDONLY, 0);
    long got = fd >= 0 ? raw_read(fd, buffer, room - 1) : 0;
    if (fd >= 0)
        raw_close(fd);
    buffer[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* Reads a whole small file, at most `room - 1` bytes, and ends it with a 0. Returns the bytes read, or -errno. */
static inline long raw_read_file(const char *path, char *buffer, size_t room)
{
    int fd = raw_open(path, O_RDONLY, 0);
    if (fd < 0)
        return fd;
    size_t filled = 0;
    long got;
    while (filled < room - 1 && (got = raw_read(fd, buffer + filled, room - 1 - filled)) > 0)
        filled += (size_t)got;
    raw_close(fd);
    buffer[filled] = '\0';
    return (long)filled;
}

#endif
