/* I/O before main and after it: in the program's own early constructors, at exit, in destructors. Each writes a different power of two. */
#define PUT_INTO "early_and_late"
#include "scenario.h"

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
