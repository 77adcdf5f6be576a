/* What the collector says: one line, in which names cannot steer the terminal. */
#ifndef SLICEWISE_TELL_H
#define SLICEWISE_TELL_H

#include <stdio.h>

__attribute__((format(printf, 2, 3))) void tell(FILE *out, const char *format, ...);

#endif
