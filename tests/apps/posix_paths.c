/* Files named from a changing working directory, and descriptors that come to mean other files. */
#include "scenario.h"

#include <sys/stat.h>

static void fill(const char *name, size_t size)
{
    static const char block[4096];
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, size) == (ssize_t)size && close(fd) == 0);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0 && mkdir("deep", 0700) == 0);
    fill("same", 100);
    REQUIRE(chdir("deep") == 0);
    fill("same", 200);
    fill("../same", 300);
    int one = open("one", O_WRONLY | O_CREAT, 0600), two = open("two", O_WRONLY | O_CREAT, 0600);
    REQUIRE(write(one, "12345", 5) == 5 && dup2(two, one) == one && write(one, "1234567", 7) == 7);
    closefrom(3);
    REQUIRE(open("three", O_WRONLY | O_CREAT, 0600) == 3 && write(3, "123", 3) == 3);
    REQUIRE(close_range(3, ~0u, 0) == 0 && write(3, "123", 3) == -1 && errno == EBADF);
    REQUIRE(open("four", O_WRONLY | O_CREAT, 0600) == 3 && write(3, "1234", 4) == 4);
    REQUIRE(dup2(3, 0) == 0 && dup2(3, 1) == 1 && dup2(3, 2) == 2 && write(1, "12", 2) == 2 && write(2, "1", 1) == 1);
    return 0;
}
