/* Reads a file of its own to the end and pushes other bytes back than it took, by ungetc; what reads these and what the buffer holds beside them is
 * one character, many bytes, or a number. Then goes on to other files with a stream that still holds what it wrote (freopen). */
#include "scenario.h"

#define BYTES 100000
#define REST 1234

static char block[BYTES];

static void read_on(FILE *file, int how)
{
    int number;
    if (how == 0)
        (void)!fread(block, 1, 500, file);
    else if (how == 1)
        getc(file);
    else
        (void)!fscanf(file, "%d", &number);
}

int main(void)
{
    memset(block, '7', sizeof block);
    for (int i = 0; i < BYTES; i += 5)
        block[i] = '\n';
    FILE *file = fopen("numbers", "w");
    REQUIRE(file != NULL && fwrite(block, 1, BYTES, file) == BYTES && fclose(file) == 0);
    REQUIRE((file = fopen("numbers", "r")) != NULL);
    for (int how = 0; getc(file) != EOF; how = (how + 1) % 3) {
        REQUIRE(ungetc('5', file) == '5');
        read_on(file, how);
    }
    REQUIRE(fclose(file) == 0 && (file = fopen("first", "w")) != NULL);
    for (int i = 0; i < 2; i++)
        REQUIRE(fwrite(block, 1, REST, file) == REST && (file = freopen(i == 0 ? "second" : "third", "w", file)) != NULL);
    return fclose(file);
}
