/* Calls on what files have beside their bytes, by name, by directory descriptor and by descriptor; with what fails. */
#include "scenario.h"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <utime.h>

static const struct timeval present[2];
static const struct timespec now_ns[2];
static char room[4096];
static volatile size_t some = 100; /* volatile: a size that the compiler knows needs no fortified function */

static void look(int dirfd)
{
    struct statx status;
    struct statfs system;
    struct statvfs numbers;
    REQUIRE(statx(dirfd, "file", 0, STATX_SIZE, &status) == 0 && status.stx_size == 5000);
    REQUIRE(statx(dirfd, "none", 0, STATX_ALL, &status) == -1 && errno == ENOENT);
    REQUIRE(access("file", R_OK) == 0 && faccessat(dirfd, "file", W_OK, 0) == 0);
    REQUIRE(access("none", F_OK) == -1 && errno == ENOENT);
    REQUIRE(statfs(".", &system) == 0 && fstatfs(dirfd, &system) == 0);
    REQUIRE(statvfs(".", &numbers) == 0 && fstatvfs(dirfd, &numbers) == 0);
}

static void name(int dirfd)
{
    REQUIRE(link("file", "hard") == 0 && linkat(dirfd, "file", dirfd, "harder", 0) == 0);
    REQUIRE(symlink("file", "soft") == 0 && symlinkat("file", dirfd, "softer") == 0);
    REQUIRE(link("none", "nowhere") == -1 && errno == ENOENT);
    REQUIRE(readlink("soft", room, some) == 4 && readlinkat(dirfd, "softer", room, some) == 4);
    REQUIRE(readlink("file", room, some) == -1 && errno == EINVAL);
    REQUIRE(mkfifo("fifo", 0600) == 0 && mkfifoat(dirfd, "fifo2", 0600) == 0);
    REQUIRE(mknod("plain", S_IFREG | 0600, 0) == 0 && mknodat(dirfd, "plain2", S_IFREG | 0600, 0) == 0);
    char temporary[] = "tmp-XXXXXX", more[] = "tmp-XXXXXX.c", other[] = "tmp-XXXXXX", most[] = "tmp-XXXXXX.c", folder[] = "tmp-XXXXXX";
    int descriptors[] = { mkstemp(temporary), mkstemps(more, 2), mkostemp(other, O_CLOEXEC), mkostemps(most, 2, O_CLOEXEC) };
    for (int i = 0; i < 4; i++)
        REQUIRE(descriptors[i] >= 0 && close(descriptors[i]) == 0);
    REQUIRE(mkdtemp(folder) == folder && rmdir(folder) == 0);
    REQUIRE(rmdir(folder) == -1 && errno == ENOENT);
}

static void change(int dirfd, int fd)
{
    REQUIRE(chmod("file", 0640) == 0 && fchmod(fd, 0600) == 0 && fchmodat(dirfd, "file", 0600, 0) == 0);
    REQUIRE(chown("file", -1, -1) == 0 && lchown("soft", -1, -1) == 0 && fchown(fd, -1, -1) == 0 && fchownat(dirfd, "file", -1, -1, 0) == 0);
    REQUIRE(chmod("none", 0600) == -1 && errno == ENOENT && fchmod(-1, 0600) == -1 && errno == EBADF);
    REQUIRE(utime("file", NULL) == 0 && utimes("file", present) == 0 && lutimes("soft", present) == 0 && futimesat(dirfd, "file", present) == 0);
    REQUIRE(utimensat(dirfd, "file", now_ns, 0) == 0 && futimens(fd, now_ns) == 0 && futimes(fd, present) == 0);
    REQUIRE(truncate("file", 6000) == 0 && ftruncate(fd, 5000) == 0 && ftruncate(-1, 0) == -1 && errno == EBADF);
    REQUIRE(fallocate(fd, 0, 0, 8192) == 0 && posix_fallocate(fd, 0, 8192) == 0 && posix_fallocate(-1, 0, 1) == EBADF);
    REQUIRE(readahead(fd, 0, 4096) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
    REQUIRE(sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE) == 0 && syncfs(fd) == 0 && syncfs(-1) == -1 && errno == EBADF);
    REQUIRE(flock(fd, LOCK_EX) == 0 && flock(fd, LOCK_UN) == 0 && lockf(fd, F_TLOCK, 10) == 0);
    int waiting;
    REQUIRE(ioctl(fd, FIONREAD, &waiting) == 0 && ioctl(-1, FIONREAD, &waiting) == -1 && errno == EBADF);
    struct file_clone_range range = { .src_fd = fd, .src_length = 4096, .dest_offset = 4096 };
    (void)!(ioctl(fd, FICLONE, fd) + ioctl(fd, FICLONERANGE, &range)); /* few file systems can */
}

/* Where the file system has none, each fails, and is counted all the same. */
static void extend(int fd)
{
    (void)!(setxattr("file", "user.one", "1", 1, 0) + lsetxattr("file", "user.two", "2", 1, 0) + fsetxattr(fd, "user.three", "3", 1, 0));
    (void)!(getxattr("file", "user.one", room, 10) + lgetxattr("file", "user.two", room, 10) + fgetxattr(fd, "user.three", room, 10));
    (void)!(listxattr("file", room, some) + llistxattr("file", room, some) + flistxattr(fd, room, some));
    (void)!(removexattr("file", "user.one") + lremovexattr("file", "user.two") + fremovexattr(fd, "user.three"));
}

static void handle(int dirfd)
{
    struct { struct file_handle handle; unsigned char rest[128]; } own = { .handle.handle_bytes = sizeof own.rest };
    int mount;
    (void)!name_to_handle_at(dirfd, "file", &own.handle, &mount, 0);
    int fd = open_by_handle_at(dirfd, &own.handle, O_RDONLY);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    int dirfd = open(argv[1], O_RDONLY | O_DIRECTORY), fd = open("file", O_RDWR | O_CREAT, 0600);
    REQUIRE(dirfd >= 0 && fd >= 0 && write(fd, room, 4096) == 4096 && pwrite(fd, room, 1, 4999) == 1);
    look(dirfd);
    name(dirfd);
    change(dirfd, fd);
    extend(fd);
    handle(dirfd);
    REQUIRE(close(fd) == 0 && close(dirfd) == 0);
    scenario_end();
    return 0;
}
