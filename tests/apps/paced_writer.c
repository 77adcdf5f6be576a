/* paced_writer SECONDS FILE [MS]: writes 256 KiB to the beginning of the file every 5 ms, or every MS, for so long. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 18];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    int fd = count >= 3 ? open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    unsigned pause_us = count > 3 ? 1000 * (unsigned)atoi(words[3]) : 5000;
    for (double end = now() + atof(words[1]); now() < end; usleep(pause_us))
        if (pwrite(fd, block, sizeof block, 0) != sizeof block)
            return 1;
    return close(fd);
}
