/* The name of the file that a thread opened last. A file that gets a row in the table of files needs its name, and asking the kernel for a
 * descriptor's name costs nearly half of what making a new file costs. Nearly always the file is the one that its thread opened last, and the
 * name that the program opened it by is the kernel's own name, for no part of it is a link. */
#ifndef SLICEWISE_OPENED_H
#define SLICEWISE_OPENED_H

#include "call.h"

/* The thread opened a file by a name, relative to its working directory if it does not begin with '/'. */
void opened_note(descriptor word, const struct statx *status, const char *name, size_t length);

/* Its name is no link. */
void opened_is_no_link(descriptor word);

/* The file's absolute name, put into scratch.path, or NULL: then the kernel must be asked. Waits for no file system. Caller holds the lock. */
const char *opened_name(descriptor word);

#endif
