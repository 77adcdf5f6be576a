/* What a coordinator is told by whoever connects. An input is a list of steps of STEP_BYTES: which of MEMBERS connections, what it does, and
 * what the message says. Some messages come from holders of the secret and have a sound code, since no mutation gets past one. */
#include "bed.h"

#include "../../collector/coordinator.c" /* whose functions of its own are wanted: make/fuzz.mk links this target without the object */

#include <sys/socket.h>

enum { MEMBERS = 8, STEP_BYTES = 32, TICKS_MOST = 10000 };
enum deed { DEED_hello, DEED_join, DEED_inform, DEED_release, DEED_raw, DEED_pass, DEED_close, DEED_unsound, DEEDS };

struct peer {
    int fd; /* 0: none */
    struct connection *connection;
    struct turn_way to;
};
static struct peer peers[MEMBERS];

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    return 0;
}

static void begin(uint8_t choice)
{
    service.turns = (struct turns){ .rule = { .policy = choice % POLICIES, .metric = choice / 8 % METRICS, .delay_seconds = choice & 64 ? 2 : 0 },
                                    .is_rule_fixed = choice >= 128, .capacity = 1e9, .most_seconds = 30, .idle_seconds = 1,
                                    .most_processes = 1000000, .tell = tell_job, .put_out = put_out, .log = service.turns.log };
    service.poll = epoll_create1(EPOLL_CLOEXEC);
    service.looked_ns = now_ns();
    service.is_any_lost = false;
    turn_secret(service.secret, "secret", 6);
    turns_start(&service.turns, now_ns());
}

static void meet(struct peer *peer)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        abort();
    take_connection(ends[1], 1000);
    *peer = (struct peer){ .fd = ends[0], .connection = service.connections };
}

static bool is_connected(const struct peer *peer)
{
    const struct connection *one = service.connections;
    while (one != NULL && one != peer->connection)
        one = one->after;
    return one != NULL;
}

static void leave(struct peer *peer)
{
    if (peer->fd > 0)
        close(peer->fd);
    *peer = (struct peer){ 0 };
}

/* What the coordinator holds agrees with itself, and figures that it decides by are numbers. */
static void check(void)
{
    unsigned used = 0;
    for (const struct connection *one = service.connections; one != NULL; one = one->after)
        used++;
    if (used != service.used || service.turns.present_used > service.turns.jobs_used)
        abort();
    for (unsigned i = 0; i < service.turns.present_used; i++) {
        const struct present *present = service.turns.present[i];
        if (!(present->remaining_seconds >= 0 && present->asked_seconds >= present->remaining_seconds && present->processes >= 1 &&
              present->demand > 0 && present->demand <= 1 && present->served_seconds >= 0))
            abort();
    }
}

static void tick(void)
{
    unsigned ticks = 0;
    while (turns_tick(&service.turns, now_ns()) == 0)
        if (++ticks > TICKS_MOST)
            abort();
}

static void say(struct peer *peer, const uint8_t *step)
{
    uint8_t bytes[sizeof(struct turn_message)];
    size_t size = sizeof bytes;
    struct turn_message message = { .magic = TURN_MAGIC, .version = TURN_VERSION, .phase = step[2] % 4, .processes = step[3] };
    enum deed deed = step[1] % DEEDS;
    static const uint16_t kinds[] = { [DEED_hello] = TURN_hello, [DEED_join] = TURN_join, [DEED_inform] = TURN_inform, [DEED_release] = TURN_release };
    message.kind = deed < DEED_raw ? kinds[deed] : step[2];
    message.job = step[2] % 4;
    message.policy = step[3] % 8;
    memcpy(&message.bytes, step + 4, sizeof message.bytes);
    memcpy(&message.remaining_bytes, step + 12, sizeof message.remaining_bytes);
    memcpy(&message.seconds, step + 20, 4);
    memcpy((char *)&message.seconds + 4, step + 24, 4);
    memcpy((char *)&message.demand + 4, step + 28, 4); /* the half of a number that says how large it is */
    if (step[2] & 64)
        message.seconds = (double)step[4];
    if (deed == DEED_hello)
        peer->to = (struct turn_way){ .key_use = TURN_TO_COORDINATOR };
    else if (deed != DEED_unsound)
        turn_seal(&message, peer->connection->key, &peer->to);
    memcpy(bytes, &message, sizeof bytes);
    if (deed == DEED_raw) {
        size = 1 + step[3] % STEP_BYTES;
        memcpy(bytes, step, size);
    }
    if (write(peer->fd, bytes, size) == (ssize_t)size)
        listen_to(peer->connection);
}

static void step_on(const uint8_t *step)
{
    struct peer *peer = &peers[step[0] % MEMBERS];
    if (step[1] % DEEDS == DEED_pass) {
        uint16_t hundredths;
        memcpy(&hundredths, step + 2, sizeof hundredths);
        fake_system.monotonic_ns += hundredths * 10000000ull;
    } else if (step[1] % DEEDS == DEED_close) {
        if (peer->fd > 0 && is_connected(peer))
            shutdown(peer->fd, SHUT_RDWR), listen_to(peer->connection);
        leave(peer);
    } else {
        if (peer->fd > 0 && !is_connected(peer))
            leave(peer);
        if (peer->fd == 0)
            meet(peer);
        say(peer, step);
    }
    end_lost();
    check();
    tick();
    check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char log[1 << 16];
    if (size == 0)
        return 0;
    fake_system.has_clock = true;
    fake_system.monotonic_ns = fake_system.realtime_ns = 1000000000000;
    service.turns.log = fmemopen(log, sizeof log, "w");
    begin(*data++);
    for (size--; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES)
        step_on(data);
    while (service.connections != NULL)
        end_connection(service.connections);
    for (unsigned i = 0; i < MEMBERS; i++)
        leave(&peers[i]);
    if (service.turns.present_used != 0)
        abort();
    turns_end(&service.turns);
    if (service.turns.jobs_used != 0)
        abort();
    fclose(service.turns.log);
    close(service.poll);
    fake_system_reset();
    return 0;
}
