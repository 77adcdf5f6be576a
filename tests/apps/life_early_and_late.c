/* I/O before main and after it: in the program's own early constructors, at exit, in destructors. Each writes a different power of two. */
#include "scenario.h"

static char block[4096];

static void put(size_t bytes)
{
    int fd = open("early_and_late", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, bytes) == (ssize_t)bytes && close(fd) == 0);
}

static void before_constructors(void)
{
    put(1);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_constructors;

__attribute__((constructor(101))) static void early(void)
{
    put(2);
}

static void at_exit(void)
{
    put(8);
}

__attribute__((destructor(101))) static void late(void)
{
    put(16);
}

int main(void)
{
    put(4);
    return atexit(at_exit);
}
