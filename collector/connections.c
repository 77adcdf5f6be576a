#include "connections.h"

#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define US_NS 1000ull
#define LISTEN_STATE (1u << 10)
#define ENDED_STATE 7 /* TCP_CLOSE: no dump has it, but the kernel's word of a connection that ended */
/* Established, closing in either direction, and closed by the peer. Those that wait after their end have no counts. */
#define DATA_STATES (1u << 1 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 11)
/* A dump may pass over a connection while others of its place in the kernel's table end. It is the same one when it is back. */
#define READINGS_KEPT 16
#define FIRST_COUNT node_connections_sent_bytes
#define FIRST_LEVEL node_connections_round_trip_ns

static const struct service services[] = {
    { { "nfs", "nfs4" }, { 2049 }, { { 2049, 2049 } }, false },
    { { "lustre" }, { 988 }, { { 988, 988 } }, true },
    { { "fuse.glusterfs" }, { 24007 }, { { 24007, 24008 }, { 49152, 49251 } }, true },
    { { "ceph", "fuse.ceph", "fuse.ceph-fuse" }, { 6789, 3300, 6800 }, { { 3300, 3300 }, { 6789, 6789 }, { 6800, 7568 } }, true },
    { { "cifs", "smb3" }, { 445 }, { { 445, 445 } }, false },
    { { "fuse.sshfs" }, { 0 }, { { 22, 22 } }, false }, /* who serves it cannot be told from who lets people log in */
    { { "beegfs" }, { 8003, 8005 }, { { 8003, 8003 }, { 8005, 8005 }, { 8008, 8008 } }, true },
    { { "pvfs2" }, { 3334 }, { { 3334, 3334 } }, true },
};
enum { SERVICES = sizeof services / sizeof *services };

static void add_ports(struct ports *ports, uint16_t first, uint16_t last)
{
    for (unsigned i = 0; i < ports->used; i++)
        if (ports->ranges[i].first == first && ports->ranges[i].last == last)
            return;
    if (first == 0 || ports->used == PORT_RANGES_MAX)
        return;
    ports->ranges[ports->used].first = first;
    ports->ranges[ports->used++].last = last;
}

static bool has_port(const struct ports *ports, uint16_t port)
{
    for (unsigned i = 0; i < ports->used; i++)
        if (ports->ranges[i].first <= port && port <= ports->ranges[i].last)
            return true;
    return false;
}

static bool read_port(const char **at, uint16_t *port)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    unsigned long number = strtoul(*at, &end, 10);
    *port = (uint16_t)number;
    *at = end;
    return number > 0 && number <= UINT16_MAX;
}

bool connections_ask_for(struct connections *connections, const char *text)
{
    struct ports ports = { 0 };
    for (const char *at = text; *at != '\0';) {
        uint16_t first, last;
        if (ports.used == PORT_RANGES_MAX || !read_port(&at, &first))
            return false;
        last = first;
        if (*at == '-' && (at++, !read_port(&at, &last)))
            return false;
        if (last < first || (*at != ',' && *at != '\0') || (*at == ',' && at[1] == '\0'))
            return false;
        add_ports(&ports, first, last);
        at += *at == ',';
    }
    connections->asked = ports;
    return true;
}

static void add_service(struct ports *ports, const struct service *service)
{
    for (size_t i = 0; i < sizeof service->ports / sizeof *service->ports; i++)
        add_ports(ports, service->ports[i][0], service->ports[i][1]);
}

static const struct service *service_of(const char *type)
{
    for (size_t i = 0; i < SERVICES; i++)
        for (size_t k = 0; services[i].types[k] != NULL; k++)
            if (strcmp(services[i].types[k], type) == 0)
                return &services[i];
    return NULL;
}

/* The port that an NFS mount's options name. */
static void add_port_of_options(struct ports *ports, const char *options, size_t length)
{
    for (const char *at = options; at < options + length; at += strcspn(at, ",\n ") + 1) {
        const char *number = at + strlen("port=");
        uint16_t port;
        if (strncmp(at, "port=", strlen("port=")) == 0 && read_port(&number, &port))
            add_ports(ports, port, port);
    }
}

void connections_know_mounts(struct connections *connections, const char *mounts)
{
    connections->remote = connections->asked;
    for (const char *line = mounts; *line != '\0';) {
        char type[32];
        int options = 0;
        const char *end = line + strcspn(line, "\n");
        if (sscanf(line, "%*s %*s %31s %n", type, &options) == 1 && options > 0 && line + options < end) {
            const struct service *service = service_of(type);
            if (service != NULL)
                add_service(&connections->remote, service);
            if (strncmp(type, "nfs", 3) == 0)
                add_port_of_options(&connections->remote, line + options, (size_t)(end - line - options));
        }
        line = *end == '\n' ? end + 1 : end;
    }
}

static bool is_listened(const struct connections *connections, uint16_t port)
{
    return (connections->listened[port / 64] >> port % 64 & 1) != 0;
}

static bool is_served(const struct connections *connections, const struct service *service)
{
    bool is_one = false;
    for (size_t i = 0; i < sizeof service->served_at / sizeof *service->served_at; i++)
        is_one |= service->served_at[i] != 0 && is_listened(connections, service->served_at[i]);
    return is_one;
}

/* The service that this node serves at a port; NULL: of those of the setting. */
static const struct service *served_at(const struct connections *connections, uint16_t port)
{
    for (size_t i = 0; i < SERVICES; i++) {
        struct ports ports = { 0 };
        add_service(&ports, &services[i]);
        if (has_port(&ports, port) && is_served(connections, &services[i]))
            return &services[i];
    }
    return NULL;
}

void connections_know_listened(struct connections *connections)
{
    connections->served = connections->asked;
    for (size_t i = 0; i < SERVICES; i++) {
        if (!is_served(connections, &services[i]))
            continue;
        add_service(&connections->served, &services[i]);
        if (connections->by_client && services[i].is_pool)
            add_service(&connections->remote, &services[i]);
    }
    const struct ports now[2] = { connections->remote, connections->served };
    if (memcmp(connections->looked_for, now, sizeof now) != 0)
        connections->was_whole = false;
    memcpy(connections->looked_for, now, sizeof now);
}

/* Calls `take` for each socket of the messages, with what comes behind its fixed part. */
static int each_socket(struct connections *connections, const void *messages, size_t bytes,
                       void (*take)(struct connections *, const struct inet_diag_msg *, const char *, size_t))
{
    const char *at = messages;
    while (bytes >= sizeof(struct nlmsghdr)) {
        struct nlmsghdr head;
        struct inet_diag_msg socket;
        memcpy(&head, at, sizeof head);
        if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes)
            return -EBADMSG;
        if (head.nlmsg_type == NLMSG_DONE)
            return (head.nlmsg_flags & NLM_F_DUMP_INTR) != 0 ? -EAGAIN : 0;
        if (head.nlmsg_type == NLMSG_ERROR) {
            int error = 0;
            if (head.nlmsg_len >= NLMSG_LENGTH(sizeof error))
                memcpy(&error, at + NLMSG_HDRLEN, sizeof error);
            return error < 0 && error > -4096 ? error : -EBADMSG;
        }
        if (head.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
            if (head.nlmsg_len < NLMSG_LENGTH(sizeof socket))
                return -EBADMSG;
            memcpy(&socket, at + NLMSG_HDRLEN, sizeof socket);
            take(connections, &socket, at + NLMSG_LENGTH(sizeof socket), head.nlmsg_len - NLMSG_LENGTH(sizeof socket));
        }
        size_t step = NLMSG_ALIGN((size_t)head.nlmsg_len);
        at += step < bytes ? step : bytes;
        bytes -= step < bytes ? step : bytes;
    }
    return bytes == 0 ? 1 : -EBADMSG;
}

static void take_listened(struct connections *connections, const struct inet_diag_msg *socket, const char *rest, size_t bytes)
{
    uint16_t port = ntohs(socket->id.idiag_sport);
    (void)rest;
    (void)bytes;
    connections->listened[port / 64] |= 1ull << port % 64;
}

int connections_take_listened(struct connections *connections, const void *messages, size_t bytes)
{
    return each_socket(connections, messages, bytes, take_listened);
}

/* The kernel's tcp_info among a socket's attributes; fields that an older kernel does not have are 0. Returns false where there is none. */
static bool find_info(struct tcp_info *info, const char *at, size_t bytes)
{
    struct nlattr attribute;
    while (bytes >= sizeof attribute) {
        memcpy(&attribute, at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || attribute.nla_len > bytes)
            return false;
        if (attribute.nla_type == INET_DIAG_INFO) {
            size_t length = attribute.nla_len - sizeof attribute;
            memset(info, 0, sizeof *info);
            memcpy(info, at + sizeof attribute, length < sizeof *info ? length : sizeof *info);
            return length >= offsetof(struct tcp_info, tcpi_total_retrans) + sizeof info->tcpi_total_retrans;
        }
        size_t step = NLA_ALIGN((size_t)attribute.nla_len);
        at += step < bytes ? step : bytes;
        bytes -= step < bytes ? step : bytes;
    }
    return false;
}

static void address_text(char *text, size_t room, unsigned family, const uint32_t address[4])
{
    static const uint32_t in_six[3] = { 0, 0, 0 };
    bool is_mapped = family == AF_INET6 && memcmp(address, in_six, 8) == 0 && address[2] == htonl(0xffff);
    char plain[INET6_ADDRSTRLEN] = "?";
    inet_ntop(family == AF_INET6 && !is_mapped ? AF_INET6 : AF_INET, is_mapped ? &address[3] : address, plain, sizeof plain);
    snprintf(text, room, strchr(plain, ':') != NULL ? "[%s]" : "%s", plain);
}

/* The row of that name; a new one; or the one of all that have none. */
static unsigned slot_named(struct connections *connections, const char *name, const char *source, const struct service *service)
{
    unsigned most = connections->by_client ? CONNECTION_CLIENTS_MAX : CONNECTIONS_NAMED_MAX;
    for (unsigned i = 0; i < connections->slots_used && i < most; i++) {
        const struct connection_slot *one = &connections->slots[i];
        if (one->service == service && strcmp(one->name, name) == 0 && strcmp(one->source, source) == 0)
            return i;
    }
    bool has_room = connections->slots_used < most;
    unsigned slot = has_room ? connections->slots_used : most;
    connections->slots_used = slot + 1;
    struct connection_slot *made = &connections->slots[slot];
    snprintf(made->name, sizeof made->name, "%s", has_room ? name : "all other connections");
    snprintf(made->source, sizeof made->source, "%s", has_room ? source : "");
    made->service = has_room ? service : NULL;
    return slot;
}

/* The row of a connection: by its two ends, or by the client alone. */
static unsigned slot_of(struct connections *connections, const struct inet_diag_msg *socket, bool is_served)
{
    char peer[INET6_ADDRSTRLEN + 2], name[CONNECTION_NAME_BYTES], source[CONNECTION_NAME_BYTES];
    unsigned own = ntohs(socket->id.idiag_sport), other = ntohs(socket->id.idiag_dport);
    address_text(peer, sizeof peer, socket->idiag_family, socket->id.idiag_dst);
    address_text(source, sizeof source, socket->idiag_family, socket->id.idiag_src);
    if (connections->by_client) {
        unsigned slot = slot_named(connections, peer, source, served_at(connections, (uint16_t)(is_served ? own : other)));
        connections->slots[slot].is_server |= !is_served && slot < CONNECTION_CLIENTS_MAX;
        return slot;
    }
    snprintf(name, sizeof name, is_served ? "%s:%u to port %u" : "%s:%u from port %u", peer, other, own);
    return slot_named(connections, name, source, NULL);
}

/* The entry of a connection that is followed already, or a free one, or NULL. */
static struct connection *entry_of(struct connections *connections, uint64_t cookie)
{
    struct connection *free = NULL;
    for (unsigned i = 0; i < connections->followed; i++) {
        unsigned at = (connections->last + 1 + i) % connections->followed;
        struct connection *one = &connections->all[at];
        if (one->cookie == cookie) {
            connections->last = at;
            return one;
        }
        if (one->cookie == 0 && free == NULL)
            free = one;
    }
    return free != NULL || connections->followed == CONNECTIONS_MAX ? free : &connections->all[connections->followed++];
}

static uint64_t most(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void take_connection(struct connections *connections, const struct inet_diag_msg *socket, const char *rest, size_t bytes)
{
    bool is_served = is_listened(connections, ntohs(socket->id.idiag_sport));
    struct tcp_info info;
    if (!(is_served ? has_port(&connections->served, ntohs(socket->id.idiag_sport))
                    : has_port(&connections->remote, ntohs(socket->id.idiag_dport))) ||
        !find_info(&info, rest, bytes))
        return;
    uint64_t cookie = (uint64_t)socket->id.idiag_cookie[1] << 32 | socket->id.idiag_cookie[0];
    struct connection *one = cookie != 0 ? entry_of(connections, cookie) : NULL;
    if (one == NULL) {
        connections->left_out++;
        return;
    }
    const uint64_t counts[NODE_CONNECTION_COLUMNS] = {
        [node_connections_sent_bytes] = info.tcpi_bytes_acked,
        [node_connections_received_bytes] = info.tcpi_bytes_received,
        [node_connections_sent_segments] = info.tcpi_segs_out,
        [node_connections_retransmissions] = info.tcpi_total_retrans,
        [node_connections_busy_ns] = info.tcpi_busy_time * US_NS,
        [node_connections_window_limited_ns] = info.tcpi_rwnd_limited * US_NS,
        [node_connections_buffer_limited_ns] = info.tcpi_sndbuf_limited * US_NS,
    };
    bool is_new = one->cookie == 0;
    if (is_new) {
        *one = (struct connection){ .cookie = cookie, .slot = slot_of(connections, socket, is_served) };
        if (!connections->was_whole) /* it may have been there for long: what it counted so far is of no slice that is known */
            memcpy(one->counts, counts, sizeof counts);
    }
    one->readings_absent = 0;
    uint64_t *now = connections->slots[one->slot].now;
    for (unsigned column = FIRST_COUNT; column < FIRST_LEVEL; column++)
        now[column] += counts[column] > one->counts[column] ? counts[column] - one->counts[column] : 0;
    memcpy(one->counts, counts, sizeof counts);
    now[node_connections_round_trip_ns] = most(now[node_connections_round_trip_ns], info.tcpi_rtt * US_NS);
    now[node_connections_congestion_window] += info.tcpi_snd_cwnd;
    now[node_connections_unacknowledged] += info.tcpi_unacked;
    now[node_connections_connections]++;
    if (socket->idiag_state == ENDED_STATE)
        one->cookie = 0;
}

int connections_take(struct connections *connections, const void *messages, size_t bytes)
{
    return each_socket(connections, messages, bytes, take_connection);
}

void connections_begin(struct connections *connections)
{
    connections->was_whole = connections->is_whole;
    connections->is_whole = false;
    connections->left_out = 0;
    for (unsigned i = 0; i < connections->followed; i++)
        connections->all[i].readings_absent++;
    for (unsigned i = 0; i < connections->slots_used; i++)
        for (unsigned column = FIRST_LEVEL; column < NODE_CONNECTION_COLUMNS; column++)
            connections->slots[i].now[column] = 0;
}

void connections_end(struct connections *connections)
{
    connections->is_whole = true;
    for (unsigned i = 0; i < connections->followed; i++)
        if (connections->all[i].readings_absent > READINGS_KEPT)
            connections->all[i].cookie = 0;
}

static int dump(struct connections *connections, int fd, unsigned char family, uint32_t states,
                int (*take)(struct connections *, const void *, size_t))
{
    static uint64_t answer[(32 << 10) / sizeof(uint64_t)];
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } ask = {
        .head = { .nlmsg_len = sizeof ask, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
        .request = { .sdiag_family = family,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = states,
                     .idiag_ext = states == LISTEN_STATE ? 0 : 1 << (INET_DIAG_INFO - 1) },
    };
    if (send(fd, &ask, sizeof ask, 0) != (ssize_t)sizeof ask)
        return -errno;
    for (;;) {
        struct sockaddr_nl from = { 0 };
        socklen_t room = sizeof from;
        ssize_t got = recvfrom(fd, answer, sizeof answer, MSG_TRUNC, (struct sockaddr *)&from, &room);
        if (got < 0)
            return -errno;
        if (from.nl_pid != 0) /* anybody may send to us; the kernel alone is asked */
            continue;
        int taken = (size_t)got > sizeof answer ? -EBADMSG : take(connections, answer, (size_t)got);
        if (taken <= 0)
            return taken;
    }
}

/* Of both families; a kernel without IPv6 has none of the second. */
static int dump_all(struct connections *connections, int fd, uint32_t states, int (*take)(struct connections *, const void *, size_t))
{
    int error = dump(connections, fd, AF_INET, states, take);
    if (error < 0)
        return error;
    error = dump(connections, fd, AF_INET6, states, take);
    return error == -ENOENT ? 0 : error;
}

/* The kernel's filter of what it tells of ended connections: those of the node's own ports that it serves. */
static bool ask_for_ends_of(int fd, const struct ports *ports)
{
    enum { OWN_PORT_AT = NLMSG_HDRLEN + offsetof(struct inet_diag_msg, id.idiag_sport), OF_RANGE = 3 };
    struct sock_filter code[1 + OF_RANGE * PORT_RANGES_MAX + 1] = { BPF_STMT(BPF_LD | BPF_H | BPF_ABS, OWN_PORT_AT) };
    unsigned short used = 1;
    for (unsigned i = 0; i < ports->used; i++) {
        code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ports->ranges[i].first, 0, 2);
        code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, ports->ranges[i].last, 1, 0);
        code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    }
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog filter = { .len = used, .filter = code };
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

/* A connection may begin and end between two looks: the kernel tells its last counts where somebody listens. */
static void listen_for_ends(struct connections *connections)
{
    const int room = 1 << 20; /* of some 800 connections between two looks */
    const struct sockaddr_nl groups = { .nl_family = AF_NETLINK,
                                        .nl_groups = 1u << (SKNLGRP_INET_TCP_DESTROY - 1) | 1u << (SKNLGRP_INET6_TCP_DESTROY - 1) };
    bool is_open = connections->ends > 0;
    int fd = is_open ? connections->ends : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return;
    connections->ends = fd;
    if (!is_open)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    if (!ask_for_ends_of(fd, &connections->served) || (!is_open && bind(fd, (const void *)&groups, sizeof groups) != 0)) {
        raw_close(fd);
        connections->ends = 0;
    }
}

/* Those that ended since the last look, by what was known then of ports. */
static void take_ended(struct connections *connections)
{
    uint64_t message[4096 / sizeof(uint64_t)];
    while (connections->ends > 0) {
        struct sockaddr_nl from = { 0 };
        socklen_t room = sizeof from;
        ssize_t got = recvfrom(connections->ends, message, sizeof message, 0, (struct sockaddr *)&from, &room);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got < 0)
            connections->left_out += errno == ENOBUFS;
        else if (from.nl_pid == 0)
            connections_take(connections, message, (size_t)got);
        if (got < 0 && errno != ENOBUFS && errno != EINTR)
            return;
    }
}

static int ask_kernel(struct connections *connections)
{
    const struct timeval timeout = { .tv_sec = 1 };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    memset(connections->listened, 0, sizeof connections->listened);
    int error = dump_all(connections, fd, LISTEN_STATE, connections_take_listened);
    connections_know_listened(connections);
    if (connections->by_client && (connections->served.used > 0 || connections->ends > 0))
        listen_for_ends(connections);
    if (error == 0 && connections->remote.used + connections->served.used > 0)
        error = dump_all(connections, fd, DATA_STATES, connections_take);
    raw_close(fd);
    return error;
}

void connections_read(struct connections *connections, const char *mounts)
{
    connections_know_mounts(connections, mounts);
    connections_begin(connections);
    take_ended(connections);
    connections->error = ask_kernel(connections);
    if (connections->error == 0)
        connections_end(connections);
    else if (connections->remote.used == 0)
        connections->error = 0; /* nobody would miss any */
}
