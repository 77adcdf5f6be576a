/* Bytes to and from what is no file: a pipe, a FIFO, sockets, devices, an eventfd; beside a file and a file in memory. */
#include "scenario.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

static char block[4096];

static void pass(int from, int to, int times, size_t size)
{
    for (int i = 0; i < times; i++)
        REQUIRE(write(to, block, size) == (ssize_t)size && read(from, block, size) == (ssize_t)size);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pass(ends[0], ends[1], 3, 1000);
    REQUIRE(mkfifo("fifo", 0600) == 0);
    int fifo = open("fifo", O_RDWR);
    pass(fifo, fifo, 2, 500);
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pass(sockets[0], sockets[1], 4, 100);
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    pass(zero, null, 5, 4096);
    int event = eventfd(1, 0);
    REQUIRE(read(event, block, 8) == 8);
    int memory = memfd_create("memory", 0), file = open("file", O_RDWR | O_CREAT, 0600);
    REQUIRE(write(memory, block, 33) == 33 && write(file, block, 77) == 77 && pread(file, block, 100, 0) == 77);
    REQUIRE(close(ends[0]) == 0 && close(file) == 0);
    scenario_end();
    return 0;
}
