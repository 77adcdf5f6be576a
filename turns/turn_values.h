/* What is known of an I/O phase by names: "name=value" with blanks between them. Nothing here fails: names that are not known, and values that are
 * none, change nothing. For any thread. */
#ifndef SLICEWISE_TURN_VALUES_H
#define SLICEWISE_TURN_VALUES_H

#include "turn.h"

/* 0: not known. */
struct turn_values {
    double bytes, rounds, files; /* bytes of each round of each file */
    double seconds, demand, processes, period;
    uint64_t targets; /* a bit each: a number modulo 64, or a hash of a name */
};

/* Over those that are there. */
void turn_values_read(struct turn_values *values, const char *text);

/* bytes x rounds x files, where those are known. */
double turn_values_bytes(const struct turn_values *values);

/* What of it no phase's bytes say. */
struct turn_more turn_values_more(const struct turn_values *values);

#endif
