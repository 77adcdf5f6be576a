#include "coordinate.h"

#include "state.h"
#include "turn_client.h"

static struct turn_client client;

/* The phase under way, and how much the one before it moved: an application's phases are much alike. */
static struct {
    uint64_t done_bytes, expected_bytes, left_ns; /* when a step last ended */
} phase;

/* The coordinator takes a phase for over when there was no I/O for a while, but also when others have waited for too long: then it goes on. */
#define PAUSE_NS NS_PER_SECOND

static void say(const char *why)
{
    engine_say("slicewise: I/O is not coordinated any more: %s\n", why, "", "");
}

void coordinate_start(void)
{
    const struct settings *settings = &engine.settings;
    if (settings->turn_at[0] == '\0') {
        engine_say("slicewise: I/O is not coordinated: SLICEWISE_COORDINATE_AT does not say where the coordinator is\n", "", "", "");
        return;
    }
    client.say = say;
    const char *wrong =
        turn_client_begin(&client, settings->turn_at, settings->turn_secret, engine.job, settings->turn_ns, (uint32_t)settings->turn_policy);
    if (wrong != NULL)
        engine_say("slicewise: I/O is not coordinated: %s\n", wrong, "", "");
}

static bool is_fresh(void)
{
    turn_client_check(&client);
    if (client.state == TURN_IDLE && clock_read(CLOCK_MONOTONIC) - phase.left_ns >= PAUSE_NS)
        turn_client_release(&client, 0);
    return client.state == TURN_IDLE && !client.is_between;
}

uint64_t coordinate_enter(uint64_t bytes, uint32_t processes)
{
    if (!turn_client_take(&client))
        return 0;
    int saved_errno = errno_now();
    uint64_t waited_before = client.waited_ns;
    if (is_fresh()) {
        uint64_t expected = phase.done_bytes > bytes ? phase.done_bytes : bytes;
        const struct turn_phase begun = { .bytes = expected, .processes = processes };
        phase.done_bytes = 0;
        phase.expected_bytes = expected;
        turn_client_inform(&client, &begun);
    }
    turn_client_wait(&client);
    uint64_t waited = client.waited_ns - waited_before;
    turn_client_give(&client);
    errno_put(saved_errno);
    return waited;
}

void coordinate_moved(uint64_t bytes)
{
    if (!turn_client_take(&client))
        return;
    phase.done_bytes += bytes;
    turn_client_give(&client);
}

void coordinate_leave(uint64_t bytes)
{
    if (!turn_client_take(&client))
        return;
    int saved_errno = errno_now();
    phase.done_bytes += bytes;
    phase.left_ns = clock_read(CLOCK_MONOTONIC);
    uint64_t left = phase.expected_bytes > phase.done_bytes ? phase.expected_bytes - phase.done_bytes : bytes;
    turn_client_check(&client);
    turn_client_release(&client, left > 0 ? left : 1);
    turn_client_give(&client);
    errno_put(saved_errno);
}

void coordinate_end(void)
{
    if (!turn_client_take(&client))
        return;
    int saved_errno = errno_now();
    turn_client_check(&client);
    turn_client_release(&client, 0);
    turn_client_give(&client);
    errno_put(saved_errno);
}

bool coordinate_is_on(void)
{
    return client.state > TURN_OFF && client.pid == (uint32_t)raw_getpid();
}

void coordinate_waited(uint64_t ns, uint64_t ticks)
{
    if (ns == 0 || !engine_wake())
        return;
    int saved_errno = errno_now();
    struct held_lock held = lock_take(&engine.lock);
    engine.home.segment->process_row[processes_waited_ns] += ns;
    engine.home.segment->process_row[processes_waits]++;
    lock_give(held);
    if (ticks > 0) {
        thread_state.waited_ticks = ticks;
        thread_state.end_tick = 0; /* so that the next call is looked at closely (count_unusually) */
    }
    errno_put(saved_errno);
}

void coordinate_give_up(const char *why)
{
    turn_client_give_up(&client, why);
}

void coordinate_stop(void)
{
    turn_client_give_up(&client, NULL);
}

void coordinate_begin_child(void)
{
    turn_client_forget(&client);
}

uint64_t coordinate_deadline_ns(void)
{
    return engine.settings.turn_ns;
}

uint64_t coordinate_burst_bytes(void)
{
    return engine.settings.turn_burst_bytes;
}
