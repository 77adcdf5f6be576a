/* TCP connections to file servers and of file servers, each as the kernel counts it (NETLINK_SOCK_DIAG, tcp_info). Called by the collector's
 * one thread. All other connections are passed over. Only the first CONNECTIONS_NAMED_MAX connections of a node have counts of their own. With
 * `by_client`, a row is a client of one service that this node serves; other servers of that service are no clients. */
#ifndef SLICEWISE_CONNECTIONS_H
#define SLICEWISE_CONNECTIONS_H

#include "names.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    CONNECTIONS_NAMED_MAX = 64, /* those with a row of their own; all others are added up in one row */
    CONNECTION_CLIENTS_MAX = 1024,
    CONNECTIONS_MAX = 4096, /* those that are followed at one time; what is beyond is left out and counted */
    CONNECTION_SLOTS = CONNECTIONS_NAMED_MAX + 1,
    CONNECTION_CLIENT_SLOTS = CONNECTION_CLIENTS_MAX + 1,
    PORT_RANGES_MAX = 64,
    CONNECTION_NAME_BYTES = 64,
};

struct ports {
    unsigned used;
    struct {
        uint16_t first, last;
    } ranges[PORT_RANGES_MAX];
};

/* One that is followed: what the kernel had counted of it at the last look. */
struct connection {
    uint64_t cookie; /* the kernel's own number of the socket, which no other ever has; 0: free */
    unsigned slot, readings_absent;
    uint64_t counts[NODE_CONNECTION_COLUMNS];
};

/* A service of file servers. */
struct service {
    const char *types[4];  /* of its clients' mounts */
    uint16_t served_at[3]; /* a node that listens on one of these is such a server */
    uint16_t ports[3][2];
    bool is_pool; /* its servers are one file system together, and talk to each other */
};

/* A row of the profile: counts since the collector began, and levels at the last look. */
struct connection_slot {
    char name[CONNECTION_NAME_BYTES], source[CONNECTION_NAME_BYTES];
    const struct service *service; /* of a client's; NULL: unknown */
    bool is_server;                /* a client that serves this service itself */
    uint64_t now[NODE_CONNECTION_COLUMNS];
};

struct connections {
    struct ports asked;          /* by the setting: of file servers beside those that are known */
    struct ports remote, served; /* whose peers are file servers; on which this node is one */
    struct ports looked_for[2];  /* both, when they were last known: a connection that is looked for only now may be an old one */
    uint64_t listened[65536 / 64];
    bool by_client;
    bool is_whole, was_whole; /* whether this look at all connections, and the one before, came to its end */
    int ends;                 /* with `by_client`: the kernel's word of connections that ended; 0: none */
    int error;                /* why the kernel did not tell: -errno, of the last look */
    unsigned followed;        /* entries of `all` that were ever used */
    unsigned slots_used, left_out;
    unsigned last; /* the entry that was met last: the kernel lists connections in one order, mostly */
    struct connection all[CONNECTIONS_MAX];
    struct connection_slot slots[CONNECTION_CLIENT_SLOTS];
};

/* Ports and ranges of them, with commas between: "2222,49152-49251". Returns false, and takes none, if the text is anything else. */
bool connections_ask_for(struct connections *connections, const char *ports);

/* Looks at all connections of the node. `mounts`: the text of /proc/self/mounts, which tells the file servers' ports. */
void connections_read(struct connections *connections, const char *mounts);

/* The parts of that, which the kernel's answers go through. Ports by mounts, and, once it is known on what ports the node listens, those that
 * it serves. A look has a begin and an end. */
void connections_know_mounts(struct connections *connections, const char *mounts);
void connections_know_listened(struct connections *connections);
void connections_begin(struct connections *connections);
void connections_end(struct connections *connections);

/* The kernel's messages of a dump. Returns 1 if more are to come, 0 if it is over, or -errno: -EBADMSG if they are damaged. */
int connections_take_listened(struct connections *connections, const void *messages, size_t bytes);
int connections_take(struct connections *connections, const void *messages, size_t bytes);

#endif
