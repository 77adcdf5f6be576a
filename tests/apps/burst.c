/* Writes the file named, so many MiB in calls of one MiB, with a pause of so many milliseconds after each: PATH MIB MS. Each MiB has bytes of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

int main(int argc, char **argv)
{
    static char part[MIB];
    int fd = argc == 4 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    for (int i = 0; fd >= 0 && i < atoi(argv[2]); i++) {
        memset(part, i, sizeof part);
        if (write(fd, part, sizeof part) != sizeof part)
            return 1;
#ifdef CLOSES_ALL
        if (i % 3 == 2)
            close_range((unsigned)fd + 1, ~0u, 0);
#endif
        usleep((useconds_t)atoi(argv[3]) * 1000);
    }
    return fd < 0 || close(fd) != 0;
}
