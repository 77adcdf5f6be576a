/* What the kernel counts of the process beside its I/O (processor time, switches, page faults, memory), as rows of the slices in which it was looked
 * at. For the holder of the engine's lock. */
#ifndef SLICEWISE_USAGE_H
#define SLICEWISE_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* The process begins: exec keeps the counts of the program before. */
void usage_note(const struct rusage *now);

/* The engine starts: counting begins with what was noted, in a forked child with nothing, at the process's beginning. */
void usage_start(bool is_forked);

/* The first look, at the first call. A process that has just begun has used too little to tell: the next look takes that in. */
void usage_sample_first(uint64_t now_ns);

/* Counts what came since the last look, up to `now_ns` of CLOCK_REALTIME. */
void usage_sample(uint64_t now_ns);

#endif
