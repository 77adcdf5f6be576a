/* The socket that a service's clients come to: at a path or at an address of the network. */
#ifndef SLICEWISE_LISTENER_H
#define SLICEWISE_LISTENER_H

#include "turn.h"

/* Returns its descriptor, or -1 when it has said what is wrong. `name`: the address as the user wrote it. */
int listener_open(const struct turn_address *address, const char *name);

/* The next client's connection, and the user that the kernel says it is; -1: there is none now. The user of a client from the network is not
 * known, and all of them are one. */
int listener_accept(int listener, uint32_t *user);

void listener_close(int listener, const struct turn_address *address);

#endif
