/* Every POSIX transfer on a file, with short, empty and failing ones; with -DNAMES_64 by the explicit 64-bit names. errno must come
 * through as the functions left it. */
#include "scenario.h"

#include <sys/uio.h>

#ifdef NAMES_64
#define open open64
#define pread pread64
#define pwrite pwrite64
#define preadv preadv64
#define pwritev pwritev64
#define lseek lseek64
#endif

static char block[8192];
static volatile size_t kilobyte = 1000; /* volatile: a size that the compiler knows needs no fortified function */

static void write_in_all_ways(int fd)
{
    struct iovec parts[] = { { block, 100 }, { block, 200 }, { block, 300 } };
    for (int i = 0; i < 10; i++)
        REQUIRE(write(fd, block, kilobyte) == 1000);
    for (int i = 0; i < 5; i++)
        REQUIRE(pwrite(fd, block, 777, 20000 + 5000 * i) == 777);
    REQUIRE(writev(fd, parts, 3) == 600);
    REQUIRE(writev(fd, parts, 2) == 300);
    REQUIRE(pwritev(fd, parts, 3, 100) == 600);
    REQUIRE(write(fd, block, 0) == 0);
    REQUIRE(fsync(fd) == 0 && fdatasync(fd) == 0);
}

static void read_in_all_ways(int fd)
{
    char buffer[8192];
    struct iovec parts[] = { { buffer, 10 }, { buffer + 10, 20 } };
    REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
    while (read(fd, buffer, kilobyte * 4) > 0) /* the last ones are short and empty */
        ;
    for (int i = 0; i < 3; i++)
        REQUIRE(pread(fd, buffer, kilobyte, 50 * i) == 1000);
    REQUIRE(pread(fd, buffer, kilobyte, 1 << 30) == 0);
    REQUIRE(lseek(fd, -50, SEEK_END) > 0);
    REQUIRE(readv(fd, parts, 2) == 30 && readv(fd, parts, 2) == 20);
    REQUIRE(preadv(fd, parts, 2, 7) == 30);
}

static void fail_in_all_ways(const char *path)
{
    int reader = open(path, O_RDONLY);
    errno = 0;
    REQUIRE(write(reader, block, 10) == -1 && errno == EBADF);
    REQUIRE(pwrite(reader, block, 10, 0) == -1 && errno == EBADF);
    REQUIRE(pread(reader, block, 10, -1) == -1 && errno == EINVAL);
    REQUIRE(close(reader) == 0);
    REQUIRE(read(-1, block, 10) == -1 && errno == EBADF);
    REQUIRE(read(reader, block, 10) == -1 && errno == EBADF);
    REQUIRE(lseek(-1, 0, SEEK_SET) == -1 && errno == EBADF);
    REQUIRE(close(-1) == -1 && errno == EBADF);
    REQUIRE(open("/no/such/file", O_RDONLY) == -1 && errno == ENOENT);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    scenario_begin();
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    errno = 1234;
    write_in_all_ways(fd);
    read_in_all_ways(fd);
    REQUIRE(errno == 1234);
    REQUIRE(close(fd) == 0);
    fail_in_all_ways(argv[1]);
    scenario_end();
    return 0;
}
