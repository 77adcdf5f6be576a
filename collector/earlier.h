/* Segments that another build of the engine made, as jobs leave them that run across an upgrade. Their bytes mean something to a collector
 * of that build alone: those that earlier installations had lie beside this one (make/keep_collector) and are asked to finish them. */
#ifndef SLICEWISE_EARLIER_H
#define SLICEWISE_EARLIER_H

#include <stdbool.h>

/* Whether the file is a segment of this user's and of another build. */
bool earlier_made(const char *path);

/* Has each kept collector recover what is of its own build, with the same restrictions (NULL: none). */
void earlier_recover(const char *job_dir, const char *job, const char *into);

#endif
