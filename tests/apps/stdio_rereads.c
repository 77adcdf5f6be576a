/* Random calls on a stream of argv[5] bytes of buffer (0: libc's own choice), argv[2] of them from seed argv[3], with the mode argv[4], that make libc
 * read again what it has read: seeks to where it stands, to the file's end and beyond it, after other bytes were pushed back, after fflush, and
 * after writing; characters by macros; items of which the file has a part. */
#include "scenario.h"

#include <stdbool.h>

enum { FILE_BYTES = 42956, LARGEST = 12000 };

static char block[2 * FILE_BYTES];

static void seek(FILE *stream)
{
    long offset = random() % FILE_BYTES, here = ftell(stream);
    fpos_t position;
    switch (random() % 8) {
    case 0: REQUIRE(fseek(stream, offset, SEEK_SET) == 0); return;
    case 1: REQUIRE(fseek(stream, 0, SEEK_END) == 0); return;
    case 2: REQUIRE(fseek(stream, here, SEEK_SET) == 0); return;
    case 3: REQUIRE(fgetpos(stream, &position) == 0 && fsetpos(stream, &position) == 0); return;
    case 4: REQUIRE(fseeko(stream, here > 3000 ? random() % 6000 - 3000 : random() % 3000, SEEK_CUR) == 0); return;
    case 5: REQUIRE(fseek(stream, FILE_BYTES + random() % 3000, SEEK_SET) == 0); return;
    case 6: REQUIRE(fflush(stream) == 0 && fseek(stream, -offset, SEEK_END) == 0); return;
    default: rewind(stream);
    }
}

static void take(FILE *stream)
{
    size_t size = 1 + (size_t)random() % (random() % 2 ? 100 : LARGEST);
    switch (random() % 6) {
    case 0: /* as XDR does */
        for (int i = 0; i < 300; i++)
            (void)!fread(block, 4, 1, stream);
        return;
    case 1: (void)!fread(block, size, 1, stream); return;
    case 2: (void)!fread(block, size, 3, stream); return;
    case 3:
        for (size_t i = 0; i < size; i++)
            getc_unlocked(stream);
        return;
    case 4:
        for (long i = random() % 3; i >= 0; i--)
            if (getc(stream) != EOF)
                REQUIRE(ungetc(i % 2 ? 'u' : 'v', stream) != EOF);
        if (random() % 2)
            (void)!fread(block, 1, size % 100, stream);
        return;
    default: (void)!fread(block, 1, sizeof block, stream);
    }
}

static void put(FILE *stream)
{
    size_t size = 1 + (size_t)random() % (random() % 2 ? 100 : LARGEST);
    if (random() % 2)
        REQUIRE(fwrite(block, 1, size, stream) == size);
    else
        for (size_t i = 0; i < size; i++)
            putc_unlocked('p', stream);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 6);
    int fd = (int)unseen_syscall(SYS_openat, AT_FDCWD, argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    memset(block, 'x', sizeof block);
    REQUIRE(fd >= 0 && unseen_syscall(SYS_write, fd, block, FILE_BYTES) == FILE_BYTES && unseen_syscall(SYS_close, fd) == 0);
    srandom((unsigned)atoi(argv[3]));
    bool is_update = strchr(argv[4], '+') != NULL;
    size_t room = (size_t)atol(argv[5]);
    scenario_begin();
    FILE *stream = fopen(argv[1], argv[4]);
    if (room > 0)
        setvbuf(stream, malloc(room), _IOFBF, room);
    for (int i = 0; i < atoi(argv[2]); i++) {
        if (random() % 4 > 0)
            seek(stream);
        take(stream);
        if (is_update && random() % 3 == 0) {
            seek(stream);
            put(stream);
            seek(stream);
        }
    }
    REQUIRE(fclose(stream) == 0);
    scenario_end();
    return 0;
}
