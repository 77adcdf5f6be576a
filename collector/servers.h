/* slicewise-collect servers: samples what this file server serves, by job, slice by slice, into a profile of its servers: one a file system and
 * day (UTC). One instance a node. Each slice's frame is appended when the slice is over, so that a sudden death costs the slice that is open. */
#ifndef SLICEWISE_SERVERS_H
#define SLICEWISE_SERVERS_H

#include <stdbool.h>

struct servers_options {
    const char *root; /* as in struct served; NULL: the system's own */
    const char *source; /* as in struct served; NULL: nobody said it */
    bool is_detached;
};

/* Runs it until SIGTERM. Returns the exit status. */
int servers_run(const struct servers_options *options);

#endif
