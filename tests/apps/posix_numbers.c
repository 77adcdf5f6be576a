/* The system calls that programs make by number, beside some that are no I/O and must pass through with all their arguments. */
#include "scenario.h"

#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char block[4096];

/* What copies within the kernel: 3 files, a pipe. */
static void move(int from, const char *path)
{
    char name[4096];
    int ends[2];
    off_t offset = 10;
    snprintf(name, sizeof name, "%s.to", path);
    int to = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(to >= 0 && syscall(SYS_pipe2, ends, 0) == 0);
    REQUIRE(syscall(SYS_sendfile, to, from, &offset, 300) == 300 && offset == 310);
    REQUIRE(syscall(SYS_copy_file_range, from, &offset, to, NULL, 200, 0) == 200 && offset == 510);
    REQUIRE(syscall(SYS_splice, from, &offset, ends[1], NULL, 100, 0) == 100 && offset == 610);
    REQUIRE(syscall(SYS_splice, ends[0], NULL, to, NULL, 60, 0) == 60);
    struct iovec part = { block, 70 };
    REQUIRE(syscall(SYS_vmsplice, ends[1], &part, 1, 0) == 70 && syscall(SYS_vmsplice, ends[0], &part, 1, 0) == 70);
    int second[2];
    REQUIRE(syscall(SYS_pipe2, second, 0) == 0 && syscall(SYS_tee, ends[0], second[1], 4096, 0) == 40);
    REQUIRE(syscall(SYS_sendfile, to, -1, NULL, 10) == -1 && errno == EBADF);
    int first = ends[0] < to ? ends[0] : to;
    REQUIRE(syscall(SYS_close_range, first, second[1], 0) == 0 && syscall(SYS_lseek, to, 0L, SEEK_CUR) == -1);
    REQUIRE(syscall(SYS_unlinkat, AT_FDCWD, name, 0) == 0);
    errno = 1234;
}

static void attributes(int fd, const char *path)
{
    char name[4096];
    struct statx status;
    snprintf(name, sizeof name, "%s.name", path);
    REQUIRE(syscall(SYS_fallocate, fd, 0, 0L, 10000L) == 0 && syscall(SYS_ftruncate, fd, 9000L) == 0);
    REQUIRE(syscall(SYS_sync_file_range, fd, 0L, 0L, SYNC_FILE_RANGE_WRITE) == 0 && syscall(SYS_fadvise64, fd, 0L, 0L, 0) == 0);
    REQUIRE(syscall(SYS_statx, AT_FDCWD, path, 0, STATX_SIZE, &status) == 0 && status.stx_size == 9000);
    REQUIRE(syscall(SYS_utimensat, AT_FDCWD, path, NULL, 0) == 0 && syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0);
    REQUIRE(syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, name, 0) == 0 && syscall(SYS_renameat2, AT_FDCWD, name, AT_FDCWD, path, 0) == 0);
    int copy = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100);
    REQUIRE(copy >= 100 && syscall(SYS_write, copy, block, 11) == 11 && syscall(SYS_close, copy) == 0);
    REQUIRE(syscall(SYS_fcntl, fd, F_GETFD) == 0 && syscall(SYS_flock, fd, 8) == 0);
}

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
    move(fd, argv[1]);
    attributes(fd, argv[1]);
    REQUIRE(syscall(SYS_read, -1, block, 10) == -1 && errno == EBADF);
    REQUIRE(syscall(SYS_getpid) == getpid());
    void *memory = (void *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fd, 4096L); /* all six arguments */
    REQUIRE(memory != MAP_FAILED && syscall(SYS_munmap, memory, 4096L) == 0);
    REQUIRE(syscall(SYS_close, fd) == 0);
    scenario_end();
    return 0;
}
