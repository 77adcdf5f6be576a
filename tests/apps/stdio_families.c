/* Every function of C's standard I/O that the library knows, by its own symbol, on files and on the standard streams; reads and writes that
 * are larger than a stream's buffer included. */
#include "scenario.h"

#include <stdarg.h>

#undef fread_unlocked
#undef fwrite_unlocked
#undef fputc_unlocked
#undef putc_unlocked
#undef fgetc_unlocked
#undef getc_unlocked
#undef getc
#undef putc
#undef putchar
#undef getchar

#define LONG_LINE 10000

static char block[1 << 16];
static volatile int tens = 10, ones = 1, line_size = 2 * LONG_LINE; /* with which the compiler cannot tell that reads fit */
static long written, read_bytes;

static void wrote(long bytes)
{
    REQUIRE(bytes >= 0);
    written += bytes;
}

static void format(FILE *stream, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    wrote(vfprintf(stream, text, arguments));
    va_end(arguments);
}

static void print(const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    wrote(vprintf(text, arguments));
    va_end(arguments);
}

static void write_in_all_ways(FILE *file)
{
    wrote((long)fwrite(block, 10, 30, file) * 10);
    wrote((long)fwrite_unlocked(block, 1, 20000, file)); /* more than the buffer holds */
    REQUIRE(fputc('\n', file) == '\n' && putc('a', file) == 'a' && fputc_unlocked('b', file) == 'b' && (putc_unlocked)('\n', file) == '\n');
    wrote(4);
    for (int i = 0; i < LONG_LINE - 1; i++)
        wrote(fputc('x', file) == 'x');
    wrote(fputc('\n', file) == '\n');
    REQUIRE(fputs("a line\n", file) >= 0 && fputs_unlocked("another line\n", file) >= 0);
    wrote(7 + 13);
    wrote(fprintf(file, "%d numbers %s\n", 42, "or so"));
    format(file, "%5d:%s\n", 7, "seven");
    REQUIRE(fflush(file) == 0 && (fflush_unlocked)(file) == 0);
}

static void write_to_stdout(void)
{
    REQUIRE(puts("put") >= 0 && (putchar)('c') == 'c' && (putchar_unlocked)('d') == 'd');
    wrote(4 + 2);
    wrote(printf("%s\n", "printed"));
    print("%d\n", 12345);
    REQUIRE(fflush(stdout) == 0);
}

static void got(long bytes)
{
    REQUIRE(bytes > 0);
    read_bytes += bytes;
}

static void read_in_all_ways(FILE *file)
{
    char line[2 * LONG_LINE], *own = NULL;
    size_t room = 0;
    int number;
    got((long)fread(block, (size_t)tens, 30, file) * 10);
    got((long)fread_unlocked(block, (size_t)ones, 20000, file));
    got(fgetc(file) != EOF);
    got((getc)(file) != EOF);
    got(fgetc_unlocked(file) != EOF);
    got((getc_unlocked)(file) != EOF);
    REQUIRE(fgets(line, line_size, file) != NULL && strlen(line) == LONG_LINE); /* more than the buffer holds */
    got(LONG_LINE);
    REQUIRE(fgets_unlocked(line, ones * 4, file) != NULL);
    got(3);
    got(getline(&own, &room, file));
    got(getdelim(&own, &room, 'h', file));
    got(getline(&own, &room, file));
    REQUIRE(fscanf(file, "%d numbers or so", &number) == 1 && number == 42);
    got(strlen("42 numbers or so"));
    free(own);
}

static void read_from_stdin(void)
{
    int number;
    got((getchar)() != EOF);
    got((getchar_unlocked)() != EOF);
    REQUIRE(scanf("%d", &number) == 1 && number == 678);
    got(3);
}

static void move_about(FILE *file)
{
    fpos_t position;
    REQUIRE(fseek(file, 100, SEEK_SET) == 0 && fgetc(file) != EOF);
    REQUIRE(fseeko(file, 20000, SEEK_SET) == 0 && ftello(file) == 20000 && fgetc(file) != EOF);
    REQUIRE(fgetpos(file, &position) == 0 && fgetc(file) != EOF && fsetpos(file, &position) == 0 && fgetc(file) != EOF);
    rewind(file);
    REQUIRE(ftell(file) == 0 && fgetc(file) != EOF);
    got(5);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0);
    scenario_begin();
    FILE *file = fopen("file", "w");
    write_in_all_ways(file);
    REQUIRE(fclose(file) == 0);
    write_to_stdout();
    REQUIRE((file = fopen("file", "r")) != NULL);
    read_in_all_ways(file);
    move_about(file);
    REQUIRE((file = freopen("second", "w", file)) != NULL && fputs("second", file) >= 0 && fclose(file) == 0);
    read_from_stdin();
    file = fdopen(open("third", O_WRONLY | O_CREAT, 0600), "w");
    setvbuf(file, NULL, _IONBF, 0);
    wrote(fprintf(file, "unbuffered %d", 1));
    REQUIRE(fputs("directly", file) >= 0);
    wrote(6 + 8);
    FILE *left_to_flush = fopen("fourth", "w");
    wrote(fprintf(left_to_flush, "flushed with all others"));
    REQUIRE(fflush(NULL) == 0 && fclose(left_to_flush) == 0 && fclose(file) == 0);
    REQUIRE(fopen("/no/such/file", "r") == NULL && errno == ENOENT);
    tell("written", written);
    tell("read", read_bytes);
    scenario_end();
    return 0;
}
