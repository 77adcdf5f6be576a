/* The public calls of slicewise/coordinate.h: a client of store/turn_client.h for programs that take turns by calls of their own. For any thread; no
 * lock: a call that finds another thread in here does nothing. */
#include "slicewise/coordinate.h"

#include "identity.h"
#include "raw.h"
#include "settings.h"
#include "turn_client.h"
#include "turn_values.h"

#include <stdio.h>

#define MOST_BYTES 1e18
#define EXPORT __attribute__((visibility("default")))

enum { LEVELS_MOST = 16 };

static struct turn_client client;
static bool is_quiet;

/* The first level has what the settings and `prepare` say, each further one the values that were laid upon it by names. Levels beyond LEVELS_MOST are
 * only counted. */
static struct turn_values levels[LEVELS_MOST];
static unsigned depth;
static double left_bytes; /* of the phase */
/* Levels that are missing, less those that are too many, since calls found another thread in here. The next call that does not makes up for them. */
static _Atomic int32_t missed_levels;

/* Of the profiler, where the program is profiled: its profile has the waits. */
extern void slicewise_count_wait(uint64_t ns, bool is_new) __attribute__((weak));

static void say(const char *why)
{
    if (!is_quiet)
        fprintf(stderr, "slicewise: I/O is not coordinated any more: %s\n", why);
}

static void begin(void)
{
    struct settings settings;
    char job[JOB_NAME_BYTES];
    settings_read(&settings, NULL); /* the profiler complains of bad ones */
    if (settings.turn_at[0] == '\0')
        return;
    identity_job(job, sizeof job, &settings);
    is_quiet = settings.is_quiet;
    turn_values_read(&levels[0], settings.turn_values);
    client.say = say;
    client.count = slicewise_count_wait;
    const char *wrong = turn_client_begin(&client, settings.turn_at, settings.turn_secret, job, settings.turn_ns, (uint32_t)settings.turn_policy);
    if (wrong != NULL)
        say(wrong);
}

/* Whether the client is this thread's now. A forked child begins anew. */
static bool take(void)
{
    static _Atomic uint32_t beginning;
    enum { NOT_BEGUN, BEGINS, HAS_BEGUN };
    uint32_t stage = NOT_BEGUN;
    if (atomic_compare_exchange_strong(&beginning, &stage, BEGINS)) {
        begin();
        atomic_store(&beginning, HAS_BEGUN);
    } else if (stage == BEGINS)
        return false;
    if (client.state > TURN_OFF && client.pid != (uint32_t)raw_getpid()) {
        turn_client_forget(&client);
        depth = 0;
        left_bytes = 0;
        atomic_store(&missed_levels, 0);
    }
    return turn_client_take(&client);
}

/* One level more. */
static void stack(const char *values)
{
    if (++depth < LEVELS_MOST) {
        levels[depth] = levels[depth - 1];
        turn_values_read(&levels[depth], values);
    }
}

/* The levels as they would be if no call had found another thread in here. */
static void make_up(void)
{
    int32_t missed = atomic_exchange(&missed_levels, 0);
    for (; missed > 0; missed--)
        stack("");
    depth -= missed < 0 ? ((unsigned)-missed < depth ? (unsigned)-missed : depth) : 0;
}

static int give(bool may_go)
{
    int said = client.state <= TURN_OFF ? SLICEWISE_OFF : may_go ? SLICEWISE_GO : SLICEWISE_STAY;
    turn_client_give(&client);
    return said;
}

EXPORT int slicewise_coordinate_prepare(const struct slicewise_io *io)
{
    if (!take())
        return SLICEWISE_OFF;
    make_up();
    struct turn_values *told = &levels[depth < LEVELS_MOST ? depth : LEVELS_MOST - 1];
    told->bytes = (double)io->bytes;
    told->seconds = io->seconds;
    told->demand = io->demand;
    told->processes = io->processes;
    return give(true);
}

EXPORT int slicewise_coordinate_prepare_values(const char *values)
{
    if (!take()) {
        atomic_fetch_add(&missed_levels, 1);
        return SLICEWISE_OFF;
    }
    make_up();
    stack(values != NULL ? values : "");
    return give(true);
}

/* Who stands below may know the whole, and who stands above its own part of it. */
static struct turn_phase phase_told(void)
{
    double bytes = 0;
    unsigned top = depth < LEVELS_MOST ? depth : LEVELS_MOST - 1;
    for (unsigned i = 0; i <= top; i++)
        bytes = turn_values_bytes(&levels[i]) > bytes ? turn_values_bytes(&levels[i]) : bytes;
    return (struct turn_phase){ .bytes = bytes < MOST_BYTES ? (uint64_t)bytes : (uint64_t)MOST_BYTES,
                                .seconds = levels[top].seconds,
                                .demand = levels[top].demand,
                                .processes = levels[top].processes < UINT32_MAX ? (uint32_t)levels[top].processes : UINT32_MAX,
                                .more = turn_values_more(&levels[top]) };
}

EXPORT int slicewise_coordinate_inform(void)
{
    if (!take())
        return SLICEWISE_OFF;
    make_up();
    const struct turn_phase phase = phase_told();
    left_bytes = client.state == TURN_IDLE && !client.is_between ? (double)phase.bytes : left_bytes;
    turn_client_inform(&client, &phase);
    return give(true);
}

EXPORT int slicewise_coordinate_check(void)
{
    return take() ? give(turn_client_check(&client)) : SLICEWISE_OFF;
}

EXPORT int slicewise_coordinate_wait(void)
{
    return take() ? give(turn_client_wait(&client)) : SLICEWISE_OFF;
}

EXPORT int slicewise_coordinate_release(uint64_t remaining_bytes)
{
    if (!take())
        return SLICEWISE_OFF;
    turn_client_check(&client); /* what was said meanwhile: it may be to stop here */
    turn_client_release(&client, remaining_bytes);
    left_bytes = (double)remaining_bytes;
    return give(client.state != TURN_WAITING);
}

/* The last values are taken away. Returns what is left of the phase after the part that they spoke of: nothing where they were the last ones. */
static uint64_t unstack(void)
{
    if (depth == 0 || --depth >= LEVELS_MOST - 1)
        return depth > 0;
    const struct turn_values below = { .bytes = 1, .rounds = levels[depth].rounds, .files = levels[depth].files };
    left_bytes -= turn_values_bytes(&levels[depth + 1]) / turn_values_bytes(&below);
    return depth == 0 ? 0 : left_bytes > 1 ? (uint64_t)left_bytes : 1;
}

EXPORT int slicewise_coordinate_complete(void)
{
    if (!take()) {
        atomic_fetch_sub(&missed_levels, 1);
        return SLICEWISE_OFF;
    }
    make_up();
    turn_client_check(&client);
    turn_client_release(&client, unstack());
    return give(client.state != TURN_WAITING);
}

EXPORT double slicewise_coordinate_waited(void)
{
    return (double)client.waited_ns / 1e9;
}
