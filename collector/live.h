/* What processes on this node have counted so far, for those who look on. Reads segments and nothing else: no lock, no signal, nothing that a
 * process could notice. */
#ifndef SLICEWISE_LIVE_H
#define SLICEWISE_LIVE_H

#include <stdbool.h>

/* Prints a line of JSON with what each process of this user (or, where they may be read, of all) has counted since its start; again every so
 * many seconds, until nobody reads it, unless that is 0. Returns the exit status. */
int live(double every_seconds, bool is_for_all);

#endif
