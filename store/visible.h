/* Text for people: what a path, a job's name or a setting may hold is spelled out where a terminal would obey it, or a reader not see it. */
#ifndef SLICEWISE_VISIBLE_H
#define SLICEWISE_VISIBLE_H

#include <stddef.h>

/* Writes the line (up to its end, or its first line end if that is its last character) to `to`, with controls, invisible letters, marks that
 * turn text round, and bytes that are no UTF-8 spelled out (\x1b, \u202e), ended by '\n' and 0. What does not fit is cut off. Returns its
 * length. The letters are those of analyzer/slicewise/safe_text.py; a test holds the two together. */
size_t visible_line(char *to, size_t room, const char *line);

#endif
