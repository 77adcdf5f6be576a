/* What the collector says: one line, in which names cannot steer the terminal. */
#ifndef SLICEWISE_PRINT_LINE_H
#define SLICEWISE_PRINT_LINE_H

#include <stdio.h>

__attribute__((format(printf, 2, 3))) void print_line(FILE *out, const char *format, ...);

#endif
