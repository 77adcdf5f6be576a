/* What we tell the user, one line at a time, on the program's own standard error: without a signal to the program, and without waiting for
 * whoever reads it; a line that cannot be written now is lost. */
#ifndef SLICEWISE_SAY_H
#define SLICEWISE_SAY_H

#include "raw.h"

/* Whether what a descriptor leads to is a terminal. */
bool say_is_terminal(int fd, const struct statx *status);

/* `status` is what the descriptor leads to. */
void say_line(int fd, const struct statx *status, const char *line, size_t length);

#endif
