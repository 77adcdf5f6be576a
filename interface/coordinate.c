/* The public calls of slicewise/coordinate.h: a client of store/turn_client.h for programs that take turns by calls of their own. For any thread; no
 * lock: a call that finds another thread in here does nothing. */
#include "slicewise/coordinate.h"

#include "identity.h"
#include "raw.h"
#include "settings.h"
#include "turn_client.h"

#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

static struct turn_client client;
static struct turn_phase prepared;
static bool is_quiet;

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
    if (client.state > TURN_OFF && client.pid != (uint32_t)raw_getpid())
        turn_client_forget(&client);
    return turn_client_take(&client);
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
    prepared = (struct turn_phase){ .bytes = io->bytes, .seconds = io->seconds, .demand = io->demand, .processes = io->processes };
    return give(true);
}

EXPORT int slicewise_coordinate_inform(void)
{
    if (!take())
        return SLICEWISE_OFF;
    turn_client_inform(&client, &prepared);
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
    return give(client.state != TURN_WAITING);
}

EXPORT int slicewise_coordinate_complete(void)
{
    if (!take())
        return SLICEWISE_OFF;
    turn_client_check(&client);
    turn_client_release(&client, 0);
    return give(true);
}

EXPORT double slicewise_coordinate_waited(void)
{
    return (double)client.waited_ns / 1e9;
}
