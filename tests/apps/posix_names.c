/* Calls on names and descriptors: open, copy, look, rename, remove; by absolute and relative names and by directory descriptors; with
 * what fails. */
#include "scenario.h"

#include <sys/stat.h>

/* What programs built against glibc before 2.33 call. */
int old_stat(int version, const char *path, struct stat *status);
int old_lstat(int version, const char *path, struct stat *status);
int old_fstat(int version, int fd, struct stat *status);
int old_fstatat(int version, int dirfd, const char *path, struct stat *status, int flags);
#ifdef __x86_64__
#define STAT_VERSION 1
__asm__(".symver old_stat, __xstat@GLIBC_2.2.5\n.symver old_lstat, __lxstat@GLIBC_2.2.5\n"
        ".symver old_fstat, __fxstat@GLIBC_2.2.5\n.symver old_fstatat, __fxstatat@GLIBC_2.4");
#else
#define STAT_VERSION 0
__asm__(".symver old_stat, __xstat@GLIBC_2.17\n.symver old_lstat, __lxstat@GLIBC_2.17\n"
        ".symver old_fstat, __fxstat@GLIBC_2.17\n.symver old_fstatat, __fxstatat@GLIBC_2.17");
#endif

static void open_and_copy(int dirfd)
{
    int one = open("one", O_RDWR | O_CREAT, 0600), two = openat(dirfd, "two", O_RDWR | O_CREAT, 0600), three = creat("three", 0600);
    REQUIRE(one >= 0 && two >= 0 && three >= 0);
    int copy = dup(one), high = fcntl(one, F_DUPFD_CLOEXEC, 100);
    REQUIRE(copy >= 0 && high >= 100 && dup2(two, copy) == copy && dup3(three, high, O_CLOEXEC) == high);
    REQUIRE(fcntl(one, F_GETFL) >= 0 && fcntl(one, F_SETFD, FD_CLOEXEC) == 0);
    REQUIRE(dup(-1) == -1 && errno == EBADF);
    REQUIRE(dup2(-1, one) == -1 && errno == EBADF);
    REQUIRE(dup2(one, one) == one);
    REQUIRE(write(copy, "to two", 6) == 6 && write(high, "to three", 8) == 8);
    REQUIRE(close(one) == 0 && close(two) == 0 && close(three) == 0 && close(copy) == 0 && close(high) == 0);
}

static void look(int dirfd)
{
    struct stat status;
    REQUIRE(stat("one", &status) == 0 && lstat("one", &status) == 0 && fstat(dirfd, &status) == 0);
    REQUIRE(fstatat(dirfd, "one", &status, 0) == 0);
    REQUIRE(old_stat(STAT_VERSION, "one", &status) == 0 && old_lstat(STAT_VERSION, "two", &status) == 0);
    REQUIRE(old_fstat(STAT_VERSION, dirfd, &status) == 0 && S_ISDIR(status.st_mode));
    REQUIRE(old_fstatat(STAT_VERSION, dirfd, "three", &status, 0) == 0 && status.st_size == 8);
    REQUIRE(stat("none", &status) == -1 && errno == ENOENT);
    REQUIRE(fstat(99, &status) == -1 && errno == EBADF);
    REQUIRE(fstatat(-1, "one", &status, 0) == -1 && errno == EBADF);
}

static void rename_and_remove(int dirfd)
{
    REQUIRE(mkdir("below", 0700) == 0 && mkdirat(dirfd, "beside", 0700) == 0);
    REQUIRE(mkdir("below", 0700) == -1 && errno == EEXIST);
    REQUIRE(rename("one", "below/one") == 0 && renameat(dirfd, "two", dirfd, "beside/two") == 0);
    REQUIRE(renameat2(dirfd, "three", dirfd, "four", 1 /* RENAME_NOREPLACE */) == 0);
    REQUIRE(rename("none", "nowhere") == -1 && errno == ENOENT);
    REQUIRE(unlink("below/one") == 0 && unlinkat(dirfd, "beside/two", 0) == 0 && unlink("four") == 0);
    REQUIRE(unlink("none") == -1 && errno == ENOENT);
    REQUIRE(unlinkat(dirfd, "below", AT_REMOVEDIR) == 0 && unlinkat(dirfd, "beside", AT_REMOVEDIR) == 0);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    int dirfd = open(argv[1], O_RDONLY | O_DIRECTORY);
    REQUIRE(dirfd >= 0);
    open_and_copy(dirfd);
    look(dirfd);
    rename_and_remove(dirfd);
    REQUIRE(close(dirfd) == 0);
    scenario_end();
    return 0;
}
