#include "coordinate.h"

#include "slice_row.h"
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
    client.count = coordinate_count;
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

#define LATE_NS NS_PER_SECOND /* between a wait's end and its being counted, at most, unless the process is stopped there */

/* The part of a wait that is in one slice. */
static void count_in_slice(uint64_t slice, uint64_t ns, bool is_new)
{
    struct segment *segment = engine.home.segment;
    uint64_t *row = slice_row(&segment->wait_ledger, segment->waits[0], WAIT_COLUMNS, WAIT_ROWS_MAX, slice);
    if (row == NULL) {
        mishap(MISHAP_waits_dropped, NULL);
        return;
    }
    row[waits_waited_ns] += ns;
    row[waits_waits] += is_new;
}

/* When a wait that is told now began, by CLOCK_REALTIME. Its clock was read a little before now: it begins where the part before it ended. */
static uint64_t begin_of(uint64_t ns)
{
    static uint64_t counted_until_ns;
    uint64_t from_ns = clock_read(CLOCK_REALTIME) - ns;
    if (from_ns < counted_until_ns && counted_until_ns - from_ns < LATE_NS)
        from_ns = counted_until_ns;
    counted_until_ns = from_ns + ns;
    return from_ns;
}

void coordinate_count(uint64_t ns, bool is_new)
{
    if (ns == 0 || thread_state.holds_lock || !engine_wake())
        return;
    int saved_errno = errno_now();
    struct held_lock held = lock_take(&engine.lock);
    struct segment *segment = engine.home.segment;
    uint64_t slice_ns = engine.settings.slice_ns, from_ns = begin_of(ns), end_ns = from_ns + ns;
    segment->process_row[processes_waited_ns] += ns;
    segment->process_row[processes_waits] += is_new;
    while (from_ns < end_ns) {
        uint64_t slice = from_ns / slice_ns, slice_end_ns = (slice + 1) * slice_ns, until_ns = slice_end_ns < end_ns ? slice_end_ns : end_ns;
        count_in_slice(slice, until_ns - from_ns, is_new);
        is_new = false;
        from_ns = until_ns;
    }
    atomic_store_explicit(&segment->last_call_ns, end_ns, memory_order_relaxed);
    lock_give(held);
    errno_put(saved_errno);
}

void coordinate_take_off(uint64_t ticks)
{
    if (ticks == 0)
        return;
    thread_state.waited_ticks = ticks;
    thread_state.end_tick = 0; /* so that the call is looked at closely (count_unusually) */
}

/* For programs that take turns by calls of their own: their waits are the profile's as well. */
__attribute__((visibility("default"))) void slicewise_count_wait(uint64_t ns, bool is_new);
void slicewise_count_wait(uint64_t ns, bool is_new)
{
    coordinate_count(ns, is_new);
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

enum turn_step coordinate_step(void)
{
    return (enum turn_step)engine.settings.turn_by;
}

bool coordinate_has_reads(void)
{
    return engine.settings.turn_reads != 0;
}
