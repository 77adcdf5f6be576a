/* Random reads, writes and seeks on a stream of 300,000 bytes, argv[2] of them from seed argv[3], with the mode argv[4]: what the stream does
 * underneath depends on where its buffer lies. */
#include "scenario.h"

enum { FILE_BYTES = 300000, LARGEST = 10000 };

static char block[FILE_BYTES];
static long moved[2];

static void seek(FILE *stream)
{
    long offset = random() % FILE_BYTES, here = ftell(stream);
    switch (random() % 4) {
    case 0:
        REQUIRE(fseek(stream, offset, SEEK_SET) == 0);
        return;
    case 1:
        REQUIRE(fseek(stream, -offset, SEEK_END) == 0);
        return;
    case 2: /* nearby, often within the buffer; not beyond the end, where libc reads what it then throws away */
        offset = here > 3000 ? random() % 6000 - 3000 : random() % 3000;
        REQUIRE(fseek(stream, here + offset < FILE_BYTES ? offset : 0, SEEK_CUR) == 0);
        return;
    default:
        rewind(stream);
    }
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 5);
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && unseen_syscall(SYS_write, fd, block, sizeof block) == sizeof block && unseen_syscall(SYS_close, fd) == 0);
    srandom((unsigned)atoi(argv[3]));
    int is_update = strchr(argv[4], '+') != NULL;
    scenario_begin();
    FILE *stream = fopen(argv[1], argv[4]);
    for (int i = 0; i < atoi(argv[2]); i++) {
        size_t size = 1 + (size_t)random() % (random() % 2 ? 100 : LARGEST);
        long choice = random() % 10;
        if (choice < 4) {
            seek(stream); /* which reading after writing needs, and writing after reading */
            moved[0] += (long)fread(block, 1, size, stream);
        } else if (choice < 7 && is_update) {
            seek(stream);
            moved[1] += (long)fwrite(block, 1, size, stream);
        } else {
            seek(stream);
            moved[0] += fgetc(stream) != EOF;
            moved[0] += (long)fread(block, 1, size, stream);
        }
    }
    REQUIRE(fclose(stream) == 0);
    tell("read", moved[0]);
    tell("written", moved[1]);
    scenario_end();
    return 0;
}
