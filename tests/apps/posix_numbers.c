/* What system calls by number keep beside what each counts, which bad_pointers.c makes them for: errno, all six arguments, and descriptors' files. */
#include "scenario.h"

#include <sys/mman.h>
#include <sys/uio.h>

static char block[4096];

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    scenario_begin();
    int fd = (int)syscall(SYS_openat, AT_FDCWD, argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct iovec part = { block, 300 };
    errno = 1234;
    REQUIRE(fd >= 0 && syscall(SYS_write, fd, block, 1000) == 1000 && syscall(SYS_pwrite64, fd, block, 500, 5000L) == 500);
    REQUIRE(syscall(SYS_pwritev2, fd, &part, 1, -1L, 0L, 0) == 300 && syscall(SYS_lseek, fd, 0L, SEEK_CUR) == 1300);
    int copy = (int)syscall(SYS_dup3, fd, 50, 0), another = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
    REQUIRE(copy == 50 && another >= 100 && syscall(SYS_write, copy, block, 7) == 7 && syscall(SYS_write, another, block, 11) == 11);
    void *memory = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fd, 4096L);
    REQUIRE(memory != MAP_FAILED && syscall(SYS_munmap, memory, 4096L) == 0 && syscall(SYS_getpid) == getpid() && errno == 1234);
    REQUIRE(syscall(SYS_close_range, 50, another, 0) == 0 && syscall(SYS_lseek, copy, 0L, SEEK_CUR) == -1 && errno == EBADF);
    REQUIRE(syscall(SYS_close, fd) == 0);
    scenario_end();
    return 0;
}
