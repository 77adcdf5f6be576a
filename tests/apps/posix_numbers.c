/* The system calls that programs make by number, beside some that are no I/O and must pass through with all their arguments. */
#include "scenario.h"

#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/uio.h>

static char block[4096];

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    scenario_begin();
    struct open_how how = { .flags = O_RDWR | O_CREAT | O_TRUNC, .mode = 0600 };
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, argv[1], &how, sizeof how);
    REQUIRE(fd >= 0);
    struct iovec parts[] = { { block, 100 }, { block, 200 } };
    errno = 1234;
    REQUIRE(syscall(SYS_write, fd, block, 1000) == 1000);
    REQUIRE(syscall(SYS_pwrite64, fd, block, 500, 5000L) == 500);
    REQUIRE(syscall(SYS_writev, fd, parts, 2) == 300);
    REQUIRE(syscall(SYS_pwritev2, fd, parts, 2, -1L, 0L, 0) == 300);
    REQUIRE(syscall(SYS_fdatasync, fd) == 0 && syscall(SYS_fsync, fd) == 0);
    REQUIRE(syscall(SYS_lseek, fd, 0L, SEEK_SET) == 0);
    REQUIRE(syscall(SYS_read, fd, block, 4000) == 4000);
    REQUIRE(syscall(SYS_pread64, fd, block, 4096, 5000L) == 500);
    REQUIRE(syscall(SYS_readv, fd, parts, 2) == 300);
    REQUIRE(syscall(SYS_preadv, fd, parts, 2, 10L, 0L) == 300);
    REQUIRE(errno == 1234);
    int copy = (int)syscall(SYS_dup3, fd, 50, 0);
    REQUIRE(copy == 50 && syscall(SYS_write, copy, block, 7) == 7 && syscall(SYS_close, copy) == 0);
    int directory = (int)syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0);
    REQUIRE(directory >= 0 && syscall(SYS_getdents64, directory, block, sizeof block) > 0 && syscall(SYS_close, directory) == 0);
    REQUIRE(syscall(SYS_read, -1, block, 10) == -1 && errno == EBADF);
    REQUIRE(syscall(SYS_getpid) == getpid());
    void *memory = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fd, 4096L); /* all six arguments */
    REQUIRE(memory != MAP_FAILED && syscall(SYS_munmap, memory, 4096L) == 0);
    REQUIRE(syscall(SYS_close, fd) == 0);
    scenario_end();
    return 0;
}
