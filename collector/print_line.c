#include "print_line.h"

#include "visible.h"

#include <stdarg.h>

void print_line(FILE *out, const char *format, ...)
{
    char line[16 << 10], shown[sizeof line];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    visible_line(shown, sizeof shown, line);
    fputs(shown, out);
}
