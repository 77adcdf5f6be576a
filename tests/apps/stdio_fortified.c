/* The functions that -D_FORTIFY_SOURCE=2 puts in the place of others: sizes are such that the compiler cannot tell that they fit. */
#include "scenario.h"

#include <stdarg.h>

static volatile int line_size = 100;

static int format(FILE *stream, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    int put = vfprintf(stream, text, arguments);
    va_end(arguments);
    return put;
}

static int print(const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    int put = vprintf(text, arguments);
    va_end(arguments);
    return put;
}

int main(int argc, char **argv)
{
    char line[128], block[512];
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    FILE *file = fopen("file", "w+");
    long written = fprintf(file, "%d\n%s\n", line_size, "second") + format(file, "%d\n", 7) + printf("%d", 8) + print("%d", 9);
    for (int i = 0; i < 300; i++)
        written += fputc('z', file) == 'z';
    rewind(file);
    REQUIRE(fgets(line, line_size, file) != NULL && fgets_unlocked(line, line_size, file) != NULL);
    REQUIRE(fread(block, 1, (size_t)line_size, file) == 100 && fread_unlocked(block, 1, (size_t)line_size, file) == 100);
    REQUIRE(fclose(file) == 0 && fflush(stdout) == 0);
    tell("written", written);
    tell("read", 4 + 7 + 100 + 100);
    scenario_end();
    return 0;
}
