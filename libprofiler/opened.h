/* The name of the file that a thread opened last. A file that gets a row in the table of files needs its name, and asking the kernel for a
 * descriptor's name costs as much as half of what making a new file costs. Nearly always the file is the one that its thread opened last.
 * The name that the program opened it by is the kernel's own name where no part of it is a link. So it is taken for that if its directory is one
 * whose name the kernel was seen to give back unchanged, and if the file of that name still is the one that was opened. */
#ifndef SLICEWISE_OPENED_H
#define SLICEWISE_OPENED_H

#include "call.h"

/* The thread opened a file by a name, relative to its working directory if it does not begin with '/'. */
void opened_note(descriptor word, const struct statx *status, const char *name, size_t length);

/* The file's absolute name, put into scratch.path, or NULL: then the kernel must be asked, and `opened_learn` be told. Caller holds the lock. */
const char *opened_name(descriptor word);
void opened_learn(descriptor word, const char *kernels_name);

#endif
