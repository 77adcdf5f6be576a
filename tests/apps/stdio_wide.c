/* Wide characters to and from files and the standard streams, in a locale of UTF-8: of one to four bytes each, more than a buffer holds. */
#include "scenario.h"

#include <locale.h>
#include <stdarg.h>
#include <wchar.h>

#define LONG_LINE 5000

static long written, read_bytes;
static volatile int line_size = LONG_LINE + 10;

static void wrote(long bytes)
{
    REQUIRE(bytes >= 0);
    written += bytes;
}

static void got(long bytes)
{
    REQUIRE(bytes > 0);
    read_bytes += bytes;
}

static void format(FILE *stream, const wchar_t *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    wrote(vfwprintf(stream, text, arguments));
    va_end(arguments);
}

static void print(const wchar_t *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    wrote(vwprintf(text, arguments));
    va_end(arguments);
}

static void write_all(FILE *file)
{
    REQUIRE(fputwc(L'a', file) == L'a' && putwc(L'\u00e9', file) == L'\u00e9' && (fputwc_unlocked)(L'\u20ac', file) == L'\u20ac');
    REQUIRE((putwc_unlocked)(L'\U0001f40c', file) == L'\U0001f40c');
    wrote(1 + 2 + 3 + 4);
    for (int i = 0; i < LONG_LINE; i++)
        REQUIRE(fputwc(i % 2 ? L'x' : L'\u20ac', file) != WEOF);
    wrote(LONG_LINE * 2);
    REQUIRE(fputws(L"\nligne \u00e9\n", file) >= 0 && fputws_unlocked(L"line\n", file) >= 0);
    wrote(10 + 5);
    wrote(fwprintf(file, L"%d numbers\n", 42));
    format(file, L"%d %ls\n", 7, L"seven");
}

static void read_all(FILE *file)
{
    static wchar_t line[LONG_LINE + 10];
    int number;
    REQUIRE(fgetwc(file) == L'a' && getwc(file) == L'\u00e9' && (fgetwc_unlocked)(file) == L'\u20ac' && (getwc_unlocked)(file) == L'\U0001f40c');
    got(1 + 2 + 3 + 4);
    REQUIRE(fgetws(line, line_size, file) != NULL && wcslen(line) == LONG_LINE + 1);
    got(2 * LONG_LINE + 1);
    REQUIRE(fgetws_unlocked(line, line_size, file) != NULL && wcscmp(line, L"ligne \u00e9\n") == 0);
    got(9);
    REQUIRE(fgetws(line, line_size, file) != NULL);
    got(5);
    REQUIRE(fwscanf(file, L"%d numbers", &number) == 1 && number == 42);
    got(10);
    while (fgetwc(file) != WEOF)
        got(1);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2 && chdir(argv[1]) == 0 && setlocale(LC_ALL, "C.UTF-8") != NULL);
    scenario_begin();
    FILE *file = fopen("file", "w");
    write_all(file);
    REQUIRE(fclose(file) == 0 && (file = fopen("file", "r")) != NULL);
    read_all(file);
    REQUIRE(fclose(file) == 0);
    REQUIRE(putwchar(L'\u20ac') == L'\u20ac' && (putwchar_unlocked)(L'b') == L'b');
    wrote(3 + 1);
    wrote(wprintf(L"%d\n", 1));
    print(L"%d\n", 2);
    REQUIRE(fflush(stdout) == 0);
    REQUIRE(getwchar() == L'\u00e9' && (getwchar_unlocked)() == L'c' && fgetwc(stdin) == WEOF);
    got(2 + 1);
    tell("written", written);
    tell("read", read_bytes);
    scenario_end();
    return 0;
}
