#include "coordinate.h"

#include "burst.h"
#include "mpi_turns.h"
#include "raw.h"
#include "turn_client.h"
#include "turn_values.h"

static struct turn_client client;
static struct turn_values known; /* by the settings */

/* The phase under way, and how much the one before it moved: an application's phases are much alike. */
static struct {
    uint64_t done_bytes, expected_bytes, left_ns; /* when a step last ended */
} phase;

/* The coordinator takes a phase for over when there was no I/O for a while, but also when others have waited for too long: then it goes on. */
#define PAUSE_NS NS_PER_SECOND

const struct turn_profiler *profiler;
__thread struct turn_thread turn_thread;

static void say(const char *why)
{
    profiler->say("slicewise: I/O is not coordinated any more: %s\n", why, "", "");
    profiler->given_up();
}

/* What this library read by itself is none of the program's I/O. */
static void tell_own_reads(void)
{
    profiler->own_io->reads += own_io.reads;
    profiler->own_io->read_bytes += own_io.read_bytes;
    own_io = (struct own_io){ 0 };
}

static void start(void)
{
    const struct settings *settings = profiler->settings;
    turn_values_read(&known, settings->turn_values);
    client.say = say;
    client.count = profiler->count_wait;
    const char *wrong = settings->turn_at[0] == '\0' ? "SLICEWISE_COORDINATE_AT does not say where the coordinator is"
                                                     : turn_client_begin(&client, settings->turn_at, settings->turn_secret, profiler->job,
                                                                         settings->turn_ns, (uint32_t)settings->turn_policy);
    tell_own_reads();
    if (wrong == NULL)
        return;
    profiler->say("slicewise: I/O is not coordinated: %s\n", wrong, "", "");
    profiler->given_up();
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
        const struct turn_phase begun = { .bytes = expected, .processes = processes, .more = turn_values_more(&known) };
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
    return profiler->settings->turn_ns;
}

uint64_t coordinate_burst_bytes(void)
{
    return profiler->settings->turn_burst_bytes;
}

enum turn_step coordinate_step(void)
{
    return (enum turn_step)profiler->settings->turn_by;
}

bool coordinate_has_reads(void)
{
    return profiler->settings->turn_reads != 0;
}

/* What the profiler calls, in its constructor (waits.h). */
__attribute__((visibility("default"))) turn_library_begin slicewise_turns_begin;
const struct turn_taker *slicewise_turns_begin(const struct turn_profiler *provided)
{
    static const struct turn_taker taker = { coordinate_stop, coordinate_begin_child };
    if (provided->bytes != sizeof *provided || provided->settings_bytes != sizeof *provided->settings)
        return NULL;
    profiler = provided;
    errno_find();
    start();
    if (coordinate_is_on()) {
        burst_put_gates_for_posix();
        burst_put_gates_for_stdio();
        mpi_turns_put_gates();
    }
    return &taker;
}
