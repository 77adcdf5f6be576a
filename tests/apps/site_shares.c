/* Three call sites of I/O, 70 : 20 : 10 of the bytes, each on a file of its own, whose sums tell how long each took; until all have taken
 * argv[1] milliseconds. The last one is an inlined function. */
#include "scenario.h"


static char block[700 << 10];

__attribute__((noinline)) static void write_checkpoint(int fd)
{
    REQUIRE(pwrite(fd, block, 700 << 10, 0) == 700 << 10);
}

__attribute__((noinline)) static void write_log(int fd)
{
    REQUIRE(pwrite(fd, block, 200 << 10, 0) == 200 << 10);
}

static inline __attribute__((always_inline)) void read_input(int fd)
{
    REQUIRE(pread(fd, block, 100 << 10, 0) == 100 << 10);
}

__attribute__((noinline)) static void step(const int *files)
{
    write_checkpoint(files[0]);
    write_log(files[1]);
    read_input(files[2]);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "checkpoint", "log", "input" };
    int files[3];
    REQUIRE(argc == 2);
    for (int i = 0; i < 3; i++) {
        files[i] = open(names[i], O_RDWR | O_CREAT, 0600);
        REQUIRE(files[i] >= 0 && ftruncate(files[i], 100 << 10) == 0);
    }
    double spent = 0;
    while (spent * 1000 < atoi(argv[1])) {
        double began = now();
        step(files);
        spent += now() - began;
    }
    return 0;
}
