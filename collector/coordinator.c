#include "coordinator.h"

#include "clock.h"
#include "listener.h"
#include "print_line.h"
#include "raw.h"
#include "turn.h"
#include "turns.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

enum {
    CONNECTIONS_MOST = 8192,
    EVENTS_A_TURN = 256,
    MESSAGES_A_TURN = 8, /* of one connection, so that no other waits for long */
};
#define JOIN_NS (10 * NS_PER_SECOND) /* within which who connects has to show that it knows the secret */

enum stage { STAGE_hello, STAGE_join, STAGE_member };

struct connection {
    struct member member; /* first: a connection is found by it */
    int fd;
    enum stage stage;
    bool is_lost, may_go; /* may_go: what it was told last, of `told_phase` */
    uint32_t user;
    int policy;
    uint64_t phase, told_phase, since_ns;
    uint8_t key[SHA256_BYTES];
    struct turn_way to, from;
    unsigned filled;
    unsigned char buffer[MESSAGES_A_TURN * sizeof(struct turn_message)];
    struct connection *before, *after;
};

static struct {
    struct turns turns;
    uint8_t secret[SHA256_BYTES];
    int poll, listener, signals;
    struct connection *connections;
    unsigned used;
    uint64_t refused;
    bool is_any_lost, is_log_broken;
    uint64_t looked_ns;
} service;

static uint64_t now_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

static void lose(struct connection *connection)
{
    connection->is_lost = service.is_any_lost = true;
}

/* What does not fit the socket's buffer (a job that takes nothing in for hundreds of messages) ends the connection: nobody is waited for. */
static void send_message(struct connection *connection, struct turn_message *message)
{
    if (!connection->is_lost && send(connection->fd, message, sizeof *message, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof *message)
        lose(connection);
}

static void tell_connection(struct connection *connection, enum turn_kind kind)
{
    struct turn_message message = { .kind = (uint16_t)kind, .phase = connection->phase };
    turn_seal(&message, connection->key, &connection->from);
    send_message(connection, &message);
}

static void tell_job(struct job *job, bool may_go)
{
    for (struct member *member = turns_members(job); member != NULL; member = member->next) {
        struct connection *connection = (struct connection *)member;
        bool is_known = connection->told_phase == connection->phase && connection->may_go == may_go;
        if (!member->is_present || is_known || (connection->told_phase != connection->phase && !may_go))
            continue;
        connection->told_phase = connection->phase;
        connection->may_go = may_go;
        tell_connection(connection, may_go ? TURN_go : TURN_stop);
    }
}

/* They take their phase for over. */
static void put_out(struct job *job)
{
    for (struct member *member = turns_members(job); member != NULL; member = member->next) {
        struct connection *connection = (struct connection *)member;
        if (connection->phase != 0 && connection->told_phase == connection->phase)
            tell_connection(connection, TURN_out);
        connection->told_phase = 0;
    }
}

static void take_connection(int fd, uint32_t user)
{
    struct connection *connection = service.used < CONNECTIONS_MOST ? calloc(1, sizeof *connection) : NULL;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };
    if (connection == NULL || epoll_ctl(service.poll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(connection);
        raw_close(fd);
        service.refused++;
        return;
    }
    connection->fd = fd;
    connection->user = user;
    connection->since_ns = now_ns();
    connection->after = service.connections;
    if (connection->after != NULL)
        connection->after->before = connection;
    service.connections = connection;
    service.used++;
}

static void end_connection(struct connection *connection)
{
    turns_leave(&service.turns, &connection->member, now_ns());
    raw_close(connection->fd);
    if (connection->before != NULL)
        connection->before->after = connection->after;
    else
        service.connections = connection->after;
    if (connection->after != NULL)
        connection->after->before = connection->before;
    service.used--;
    free(connection);
}

static void accept_all(void)
{
    uint32_t user;
    for (int fd; (fd = listener_accept(service.listener, &user)) >= 0;)
        take_connection(fd, user);
}

static bool challenge(struct connection *connection, const struct turn_message *hello)
{
    struct turn_message message = { .magic = TURN_MAGIC, .version = TURN_VERSION, .kind = TURN_challenge };
    if (hello->magic != TURN_MAGIC || hello->version != TURN_VERSION || hello->kind != TURN_hello ||
        syscall(SYS_getrandom, message.nonce, sizeof message.nonce, 0) != sizeof message.nonce)
        return false;
    turn_key(connection->key, service.secret, hello->nonce, message.nonce);
    connection->to = (struct turn_way){ .key_use = TURN_TO_COORDINATOR };
    connection->from = (struct turn_way){ .key_use = TURN_FROM_COORDINATOR };
    connection->stage = STAGE_join;
    send_message(connection, &message);
    return true;
}

/* Returns false if the connection is to be ended. */
static bool obey(struct connection *connection, const struct turn_message *message)
{
    if (connection->stage == STAGE_hello)
        return challenge(connection, message);
    if (!turn_is_sound(message, connection->key, &connection->to))
        return false;
    if (connection->stage == STAGE_join) {
        connection->stage = STAGE_member;
        connection->policy = (int)message->policy - 1;
        return message->kind == TURN_join && turns_join(&service.turns, &connection->member, message->job, connection->user);
    }
    struct claim claim = { message->bytes,     message->remaining_bytes,     message->seconds,     message->demand,
                           message->processes, message->more.period_seconds, message->more.targets };
    switch (message->kind) {
    case TURN_inform:
        connection->phase = message->phase;
        turns_inform(&service.turns, &connection->member, &claim, connection->policy, now_ns());
        return true;
    case TURN_release:
        if (message->remaining_bytes == 0)
            connection->told_phase = 0;
        turns_release(&service.turns, &connection->member, message->remaining_bytes, now_ns());
        return true;
    default: return false;
    }
}

static void listen_to(struct connection *connection)
{
    long got = recv(connection->fd, connection->buffer + connection->filled, sizeof connection->buffer - connection->filled, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            lose(connection);
        return;
    }
    connection->filled += (unsigned)got;
    unsigned taken = 0;
    for (; connection->filled - taken >= sizeof(struct turn_message) && !connection->is_lost; taken += sizeof(struct turn_message)) {
        struct turn_message message;
        memcpy(&message, connection->buffer + taken, sizeof message);
        if (!obey(connection, &message))
            lose(connection);
    }
    connection->filled -= taken;
    memmove(connection->buffer, connection->buffer + taken, connection->filled);
}

/* After a turn of the loop, since the turn's other events may be of the same connection. */
static void end_lost(void)
{
    uint64_t now = now_ns();
    bool is_time_to_look = now - service.looked_ns > NS_PER_SECOND;
    if (!service.is_any_lost && !is_time_to_look)
        return;
    service.is_any_lost = false; /* telling others of an end may lose more of them: they are for the next turn */
    service.looked_ns = now;
    for (struct connection *connection = service.connections, *after; connection != NULL; connection = after) {
        after = connection->after;
        if (connection->is_lost || (connection->stage != STAGE_member && now - connection->since_ns > JOIN_NS))
            end_connection(connection);
    }
}

static void write_log(void)
{
    if (service.turns.log == NULL || service.is_log_broken || (fflush(service.turns.log) == 0 && !ferror(service.turns.log)))
        return;
    service.is_log_broken = true;
    print_line(stderr, "slicewise-collect: the log of decisions cannot be written (%s); the coordinator goes on without it\n", strerror(errno));
}

/* Until it is told to end. */
static void serve(void)
{
    static struct epoll_event events[EVENTS_A_TURN];
    for (;;) {
        double next = turns_tick(&service.turns, now_ns());
        bool is_any_new = false;
        write_log();
        int wait_ms = next < 0 || next > 1 ? 1000 : (int)(next * 1000) + (next > 0);
        int count = epoll_wait(service.poll, events, EVENTS_A_TURN, wait_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &service.signals)
                return;
            if (events[i].data.ptr == &service.listener)
                is_any_new = true;
            else
                listen_to(events[i].data.ptr);
        }
        end_lost();
        if (is_any_new)
            accept_all();
    }
}

static bool watch(int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };
    return fd >= 0 && epoll_ctl(service.poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int open_signals(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

int coordinator_serve(const struct coordinator_options *options)
{
    service.turns = options->turns;
    service.turns.tell = tell_job;
    service.turns.put_out = put_out;
    memcpy(service.secret, options->secret, sizeof service.secret);
    service.poll = epoll_create1(EPOLL_CLOEXEC);
    service.signals = open_signals();
    service.listener = listener_open(&options->address, options->listen);
    if (service.listener < 0)
        return 1;
    if (!watch(service.listener, &service.listener) || !watch(service.signals, &service.signals)) {
        print_line(stderr, "slicewise-collect: the coordinator cannot wait for its jobs (%s)\n", strerror(errno));
        return 1;
    }
    turns_start(&service.turns, now_ns());
    print_line(stdout, "listening %s\n", options->listen);
    fflush(stdout);
    serve();
    while (service.connections != NULL)
        end_connection(service.connections);
    turns_end(&service.turns);
    write_log();
    listener_close(service.listener, &options->address);
    return 0;
}
