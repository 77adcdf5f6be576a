/* The coordinator: a service beside a file system that jobs ask for their turn (turns/turn.h). One thread, one loop; it advises, and no job depends
 * on it. */
#ifndef SLICEWISE_COORDINATOR_H
#define SLICEWISE_COORDINATOR_H

#include "turn.h"
#include "turns.h"

struct coordinator_options {
    struct turns turns; /* what of it its user sets */
    struct turn_address address;
    const char *listen;
    uint8_t secret[SHA256_BYTES];
};

/* The command's arguments, its name first. Returns the exit status, when SIGTERM or SIGINT has ended it. */
int coordinator(int argc, char **argv);

/* Serves until then. */
int coordinator_serve(const struct coordinator_options *options);

#endif
