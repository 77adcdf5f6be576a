#include "turn_client.h"

#include "clock.h"
#include "raw.h"

#include <poll.h>
#include <string.h>

enum { HIGH_DESCRIPTOR = 800, SECRET_BYTES_MOST = 4096 };
#define COUNT_NS 100000000ull /* so much of a wait is not counted yet, at most, when the process is killed in it */
#define RETRY_NS 10000000ull /* where the coordinator's queue of new connections is full */

const char *turn_client_begin(struct turn_client *client, const char *address, const char *secret_file, const char *job, uint64_t deadline_ns,
                              uint32_t policy)
{
    static char text[SECRET_BYTES_MOST];
    long size = secret_file[0] != '\0' ? raw_read_file(secret_file, text, sizeof text) : 0;
    if (!turn_read_address(&client->address, address))
        return "neither unix:/PATH nor tcp:ADDRESS:PORT with the address in digits";
    if (size < 0 || (size == 0 && secret_file[0] != '\0'))
        return "the file of the secret cannot be read, or is empty";
    turn_secret(client->secret, text, (size_t)size);
    memset(text, 0, sizeof text);
    client->job = turn_job(client->secret, raw_geteuid(), job);
    client->deadline_ns = deadline_ns;
    client->policy = policy;
    client->fd = -1;
    client->pid = (uint32_t)raw_getpid();
    client->state = TURN_IDLE;
    return NULL;
}

bool turn_client_take(struct turn_client *client)
{
    uint32_t free = 0;
    if (client->state <= TURN_OFF || !atomic_compare_exchange_strong(&client->taken, &free, 1))
        return false;
    if (client->state > TURN_OFF && client->pid == (uint32_t)raw_getpid())
        return true;
    atomic_store(&client->taken, 0);
    return false;
}

void turn_client_give(struct turn_client *client)
{
    atomic_store(&client->taken, 0);
}

/* Whether the descriptor is still the connection that we made. */
static bool has_connection(const struct turn_client *client)
{
    struct statx status;
    return client->fd >= 0 && raw_statx_descriptor(client->fd, &status) == 0 && S_ISSOCK(status.stx_mode) && status.stx_ino == client->inode;
}

static void disconnect(struct turn_client *client)
{
    if (has_connection(client))
        raw_close(client->fd);
    client->fd = -1;
    client->filled = 0;
}

void turn_client_give_up(struct turn_client *client, const char *why)
{
    bool was_on = client->state > TURN_OFF;
    disconnect(client);
    client->state = client->state == TURN_UNSET ? TURN_UNSET : TURN_OFF;
    if (was_on && why != NULL && client->say != NULL)
        client->say(why);
}

void turn_client_forget(struct turn_client *client)
{
    if (client->state <= TURN_OFF)
        return;
    disconnect(client);
    client->pid = (uint32_t)raw_getpid();
    client->state = TURN_IDLE;
    client->waited_ns = client->waits = 0;
    client->is_between = false;
    atomic_store(&client->taken, 0);
}

/* Until the descriptor (-1: none) is ready, or a signal comes, or it is `until_ns`. Returns false if it is that late. */
static bool wait_for(int fd, short events, uint64_t until_ns)
{
    struct pollfd asked = { .fd = fd, .events = events };
    uint64_t now = clock_read(CLOCK_MONOTONIC);
    if (now >= until_ns)
        return false;
    struct timespec left = { .tv_sec = (time_t)((until_ns - now) / NS_PER_SECOND), .tv_nsec = (long)((until_ns - now) % NS_PER_SECOND) };
    return syscall(SYS_ppoll, &asked, 1, &left, NULL, 0) != 0;
}

static bool send_all(const struct turn_client *client, const struct turn_message *message, uint64_t until_ns)
{
    const unsigned char *at = (const unsigned char *)message;
    size_t left = sizeof *message;
    while (left > 0) {
        long sent = raw_result(syscall(SYS_sendto, client->fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0));
        if (sent > 0) {
            at += sent;
            left -= (size_t)sent;
        } else if (sent != -EINTR && (sent != -EAGAIN || !wait_for(client->fd, POLLOUT, until_ns))) {
            return false;
        }
    }
    return true;
}

static bool say_to_coordinator(struct turn_client *client, struct turn_message *message, uint64_t until_ns)
{
    turn_seal(message, client->key, &client->to);
    return send_all(client, message, until_ns);
}

/* The next message, if it is here. Returns 1; 0: not yet; -1: there will be none. */
static int take_message(struct turn_client *client)
{
    while (client->filled < sizeof client->coming) {
        long got = raw_result(syscall(SYS_recvfrom, client->fd, (unsigned char *)&client->coming + client->filled,
                                      sizeof client->coming - client->filled, MSG_DONTWAIT, NULL, NULL));
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return got == -EAGAIN ? 0 : -1;
        client->filled += (unsigned)got;
    }
    client->filled = 0;
    return 1;
}

/* At a number that programs do not come by, if the limit leaves room. */
static int open_socket(int family)
{
    int fd = (int)raw_result(syscall(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return fd;
    int high = (int)raw_result(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR));
    if (high < 0)
        return fd;
    raw_close(fd);
    return high;
}

static bool connect_until(struct turn_client *client, uint64_t until_ns)
{
    int error = 0;
    socklen_t size = sizeof error;
    for (;;) {
        long done = raw_result(syscall(SYS_connect, client->fd, &client->address.at, client->address.size));
        if (done == 0 || done == -EISCONN)
            return true;
        if (done == -EINPROGRESS || done == -EALREADY || done == -EINTR) {
            if (!wait_for(client->fd, POLLOUT, until_ns) ||
                raw_result(syscall(SYS_getsockopt, client->fd, SOL_SOCKET, SO_ERROR, &error, &size)) < 0 || error != 0)
                return false;
            continue;
        }
        uint64_t retry_ns = clock_read(CLOCK_MONOTONIC) + RETRY_NS; /* the queue of a socket in the file system is full */
        if (done != -EAGAIN || retry_ns > until_ns)
            return false;
        while (wait_for(-1, 0, retry_ns))
            ;
    }
}

/* Returns NULL, or why it did not come about. */
static const char *greet(struct turn_client *client, uint64_t until_ns)
{
    struct turn_message hello = { .magic = TURN_MAGIC, .version = TURN_VERSION, .kind = TURN_hello };
    const int yes = 1;
    int came;
    struct statx status;
    if ((client->fd = open_socket(client->address.at.any.sa_family)) < 0 || raw_statx_descriptor(client->fd, &status) < 0)
        return "no socket can be had";
    client->inode = status.stx_ino;
    if (!connect_until(client, until_ns))
        return "the coordinator cannot be reached";
    if (client->address.at.any.sa_family != AF_UNIX)
        syscall(SYS_setsockopt, client->fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof yes);
    if (raw_result(syscall(SYS_getrandom, hello.nonce, sizeof hello.nonce, 0)) != sizeof hello.nonce)
        return "no random numbers can be had";
    if (!send_all(client, &hello, until_ns))
        return "the coordinator does not listen";
    while ((came = take_message(client)) == 0)
        if (!wait_for(client->fd, POLLIN, until_ns))
            return "the coordinator does not answer";
    if (came < 0 || client->coming.magic != TURN_MAGIC || client->coming.version != TURN_VERSION || client->coming.kind != TURN_challenge)
        return "what answers there is no coordinator of this version";
    turn_key(client->key, client->secret, hello.nonce, client->coming.nonce);
    client->to = (struct turn_way){ .key_use = TURN_TO_COORDINATOR };
    client->from = (struct turn_way){ .key_use = TURN_FROM_COORDINATOR };
    struct turn_message join = { .kind = TURN_join, .job = client->job, .policy = client->policy };
    return say_to_coordinator(client, &join, until_ns) ? NULL : "the coordinator does not listen";
}

/* What passed since then was a wait. Returns the time now. */
static uint64_t count_wait(struct turn_client *client, uint64_t since_ns, bool is_new)
{
    uint64_t now = clock_read(CLOCK_MONOTONIC), ns = now - since_ns;
    client->waited_ns += ns;
    client->waits += is_new;
    if (client->count != NULL)
        client->count(ns, is_new);
    return now;
}

/* To be connected takes its time too; where it fails there is no further wait. */
static const char *connect_to_coordinator(struct turn_client *client)
{
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    const char *wrong = greet(client, began + client->deadline_ns);
    count_wait(client, began, wrong != NULL);
    return wrong;
}

static const char lost[] = "the coordinator is gone, or has another secret";

void turn_client_inform(struct turn_client *client, const struct turn_phase *phase)
{
    if (client->state <= TURN_OFF)
        return;
    uint64_t now = clock_read(CLOCK_MONOTONIC);
    bool is_opening = client->state == TURN_IDLE;
    uint64_t remaining_bytes = client->is_between ? client->remaining_bytes : phase->bytes;
    struct turn_message inform = { .kind = TURN_inform,
                                   .bytes = phase->bytes,
                                   .remaining_bytes = remaining_bytes,
                                   .seconds = phase->seconds,
                                   .demand = phase->demand,
                                   .processes = phase->processes,
                                   .more = phase->more };
    if (client->fd >= 0 && !has_connection(client)) { /* the program closed it: it is made anew, once a phase */
        client->fd = -1;
        client->state = TURN_IDLE;
        is_opening = true;
    }
    inform.phase = client->phase_number += is_opening;
    const char *wrong = client->fd < 0 ? connect_to_coordinator(client) : NULL;
    if (wrong == NULL && !say_to_coordinator(client, &inform, is_opening ? now + client->deadline_ns : now))
        wrong = lost;
    if (wrong != NULL) {
        turn_client_give_up(client, wrong);
        return;
    }
    client->phase = *phase;
    client->is_between = false;
    if (is_opening) {
        client->state = TURN_WAITING;
        client->wait_began_ns = now;
    }
}

static void obey(struct turn_client *client)
{
    if (client->coming.phase != client->phase_number) /* said before it was known that this one began */
        return;
    switch (client->coming.kind) {
    case TURN_go: client->state = TURN_GOING; break;
    case TURN_stop:
        client->state = TURN_WAITING;
        client->wait_began_ns = clock_read(CLOCK_MONOTONIC);
        break;
    case TURN_out: client->state = TURN_IDLE; break;
    default: break; /* of a later version */
    }
}

/* Returns false if the client gave up over it. */
static bool take_in(struct turn_client *client)
{
    int came;
    if (client->state <= TURN_IDLE)
        return client->state == TURN_IDLE;
    if (!has_connection(client)) {
        client->fd = -1;
        client->state = TURN_IDLE;
        return true;
    }
    while ((came = take_message(client)) == 1) {
        if (!turn_is_sound(&client->coming, client->key, &client->from)) {
            turn_client_give_up(client, "the coordinator has another secret");
            return false;
        }
        obey(client);
    }
    if (came < 0)
        turn_client_give_up(client, lost);
    return came == 0;
}

bool turn_client_check(struct turn_client *client)
{
    return !take_in(client) || client->state != TURN_WAITING;
}

static void wait_until_told(struct turn_client *client)
{
    uint64_t counted_ns = clock_read(CLOCK_MONOTONIC), until_ns = client->wait_began_ns + client->deadline_ns;
    bool is_new = true;
    while (client->state == TURN_WAITING && counted_ns < until_ns) {
        uint64_t count_at_ns = counted_ns + COUNT_NS < until_ns ? counted_ns + COUNT_NS : until_ns;
        bool is_listening = true;
        while (is_listening && client->state == TURN_WAITING && wait_for(client->fd, POLLIN, count_at_ns))
            is_listening = take_in(client);
        counted_ns = count_wait(client, counted_ns, is_new);
        is_new = false;
    }
    if (client->state == TURN_WAITING)
        turn_client_give_up(client, "its turn did not come within the deadline");
}

bool turn_client_wait(struct turn_client *client)
{
    const struct turn_phase phase = client->phase;
    if (!take_in(client))
        return false;
    if (client->state == TURN_IDLE && client->is_between) /* the coordinator took the phase for over */
        turn_client_inform(client, &phase);
    if (client->state == TURN_WAITING)
        wait_until_told(client);
    if (client->state == TURN_GOING && client->is_between)
        turn_client_inform(client, &phase);
    return client->state > TURN_OFF;
}

void turn_client_release(struct turn_client *client, uint64_t remaining_bytes)
{
    bool has_phase = client->state > TURN_IDLE || client->is_between;
    client->is_between = has_phase && remaining_bytes > 0;
    client->remaining_bytes = remaining_bytes;
    if (client->state <= TURN_IDLE)
        return;
    struct turn_message release = { .kind = TURN_release, .remaining_bytes = remaining_bytes, .bytes = client->phase.bytes };
    if (has_connection(client) && !say_to_coordinator(client, &release, 0))
        turn_client_give_up(client, lost);
    if (client->state > TURN_OFF && (remaining_bytes == 0 || !has_connection(client)))
        client->state = TURN_IDLE;
}
