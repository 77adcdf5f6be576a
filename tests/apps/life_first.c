/* A library that the program is linked with: the loader runs its constructor, which reads, before that of a preloaded library. -DFIRST makes the
 * library. */
#include "scenario.h"

static void get(void)
{
    char byte;
    int fd = open("/dev/zero", O_RDONLY);
    REQUIRE(fd >= 0 && read(fd, &byte, 1) == 1 && close(fd) == 0);
}

void first(void);
#ifdef FIRST
__attribute__((constructor)) static void begin(void)
{
    get();
}

void first(void)
{
}
#else
int main(void)
{
    first();
    get();
    return 0;
}
#endif
