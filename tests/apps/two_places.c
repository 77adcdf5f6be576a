/* two_places SECONDS DATA LOG: writes 2 MiB to the one file and a line to the other, every 100 ms for so long. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES = 32 << 20 };

static char block[2 << 20];

int main(int count, char **words)
{
    int data = count > 3 ? open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    int log = count > 3 ? open(words[3], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    struct timespec pause = { 0, 100000000 };
    for (int i = 0; i < 10 * atoi(words[1]); i++, nanosleep(&pause, NULL)) {
        if (i % (FILE_BYTES / (int)sizeof block) == 0 && (lseek(data, 0, SEEK_SET) != 0 || ftruncate(data, 0) != 0))
            return 1;
        if (write(data, block, sizeof block) != sizeof block || write(log, "line\n", 5) != 5)
            return 1;
    }
    return close(data) + close(log);
}
