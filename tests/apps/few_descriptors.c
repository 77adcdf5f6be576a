/* Opens files until there is no descriptor left but one. */
#include "scenario.h"

int main(void)
{
    int fd = open("/etc/passwd", O_RDONLY), last = fd;
    char letter;
    REQUIRE(fd >= 0 && read(fd, &letter, 1) == 1);
    while ((fd = open("/etc/passwd", O_RDONLY)) >= 0)
        last = fd;
    REQUIRE(errno == EMFILE && close(last) == 0);
    return 0;
}
