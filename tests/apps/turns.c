/* Takes turns by calls of its own, for the file named: a phase of four steps of 1 MiB each. Prints how long it waited, in seconds. */
#include "slicewise/coordinate.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { PARTS = 4, PART_BYTES = 1 << 20 };
    static char part[PART_BYTES];
    const struct slicewise_io io = { .bytes = PARTS * PART_BYTES };
    int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    slicewise_coordinate_prepare(&io);
    slicewise_coordinate_inform();
    slicewise_coordinate_wait();
    for (int left = PARTS - 1; left >= 0; left--) {
        if (write(fd, part, sizeof part) != sizeof part)
            return 1;
        slicewise_coordinate_release((uint64_t)left * PART_BYTES);
        slicewise_coordinate_wait();
    }
    slicewise_coordinate_complete();
    printf("%.9f\n", slicewise_coordinate_waited());
    return close(fd);
}
