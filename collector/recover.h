/* Finishing what dead processes left. */
#ifndef SLICEWISE_RECOVER_H
#define SLICEWISE_RECOVER_H

#include <stdint.h>
#include <time.h>

/* Adopts every orphaned segment of this user on this node; with `job_dir` those alone whose profile lies there, with
 * `job` those of that job, and into the directory of profiles `into` instead of their own (each may be NULL). Prints one line of what it
 * did, and one for each segment that could not be finished. until_ns (CLOCK_MONOTONIC; 0: not at all): it waits so long for processes that
 * still run; how many are left is printed then. Returns the exit status: 0, or 1 if something could not be finished. */
int recover(const char *job_dir, const char *job, const char *into, uint64_t until_ns);

/* The same for every user who has segments on this node, each with that user's own rights; for others than the caller only if a segment of theirs
 * has come or gone since then (CLOCK_REALTIME; 0: whenever). */
int recover_all_users(time_t since, int (*recover_for_one)(void *argument), void *argument);

#endif
