/* I/O on file systems that may not answer, with a deadline: the collector waits for each no longer than SLICEWISE_EXIT_WAIT, says which one did not
 * answer, and goes on with the rest. */
#ifndef SLICEWISE_BOUNDED_IO_H
#define SLICEWISE_BOUNDED_IO_H

#include <stdbool.h>
#include <stdint.h>

/* From now on appending to spools waits for so long at most, and not again for a directory that did not answer, until it has. */
void bounded_io_begin(uint64_t wait_ns);

/* Whether a directory answers, be it that it is not there. A child looks, if it is not known to lie on this node. */
bool bounded_io_answers(const char *path);

enum answer { ANSWER_NO, ANSWER_YES, ANSWER_NONE };

/* Whether a file is there; `dir` is the directory that it lies in, which may be missing. */
enum answer bounded_io_is_there(const char *dir, const char *path);

/* Whether both paths lead to one directory. False also where one of them does not answer. */
bool bounded_io_is_same(const char *one, const char *other);

#endif
