/* A job asks for its turn before a collective transfer of MPI-IO. Rank 0 of the file's communicator asks and waits, and tells the others by a
 * broadcast in a communicator of our own, so that all of them begin together. No rank waits for another without an end: one that has not heard
 * from rank 0 in time (rank 0 may not have come so far, or does not take part) begins its transfer, where it waits for rank 0 as it would without
 * us, and hears of it before the next one. All ranks must take part: a file that some of them open without us finds that no copy of the
 * communicator comes about, and then nobody takes turns. A nonblocking transfer must not wait for other ranks: there rank 0 alone waits, and
 * without it none of them gets on. A phase ends when the file is closed, or by a pause. The wait lies within the wrapper's call, and is taken
 * off its time. For any thread that may call MPI. */
#include "mpi_turns.h"

#include "coordinate.h"
#include "key_table.h"
#include "mpi_copy.h"
#include "raw.h"

enum { FILES_MOST = 256, LOOKS_AT_ONCE = 1000, LOOK_AGAIN_NS = 100000, LOOK_MOST_NS = 10000000 };
#define NO_LONGER UINT64_MAX
#define LEAST_TIMEOUT_NS (60 * NS_PER_SECOND) /* for the other ranks to return from opening the file */
#define TELLING_NS NS_PER_SECOND /* that a number takes from rank 0 to another, at most */

struct turn_file {
    mpi_handle communicator; /* NULL: nobody else has the file open */
    int rank, ranks;
    bool is_over; /* all ranks know it */
    bool is_held; /* all ranks know it: the turn lasts until the file is closed */
    bool is_telling; /* the number that rank 0 told last is on its way */
    uint64_t told;
    mpi_handle telling;
    struct mpi_turn split;
};
static struct key_table table = KEY_TABLE_OF(FILES_MOST, struct turn_file);

/* Nonblocking transfers that this process has asked for, by request. */
struct started {
    uint64_t bytes, waited_ns;
};
static struct key_table started_table = KEY_TABLE_OF(MPI_TURNS_STARTED_MOST, struct started);
static _Atomic uint64_t started_bytes; /* of those that are complete, while others are under way */

static _Atomic unsigned held_files; /* by rank 0, until they are closed */

/* Time in which the process was stopped does not count, for the others may have been stopped with it. */
static bool comes_about(mpi_handle *request, uint64_t timeout_ns)
{
    const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
    uint64_t waited_ns = 0, looked_ns = clock_read(CLOCK_MONOTONIC);
    for (unsigned looks = 0; !mpi_copy_is_done(request); looks++) {
        if (looks >= LOOKS_AT_ONCE)
            syscall(SYS_nanosleep, &pause, NULL);
        uint64_t now = clock_read(CLOCK_MONOTONIC), ns = now - looked_ns;
        looked_ns = now;
        waited_ns += ns < LOOK_MOST_NS ? ns : LOOK_MOST_NS;
        if (waited_ns > timeout_ns)
            return false;
    }
    return true;
}

/* A copy of the communicator, if there are others in it. What did not come about may do so later: its place is nobody else's any more. */
static bool open_copy(mpi_handle communicator, struct turn_file *file, bool *is_pending)
{
    uint64_t timeout_ns = coordinate_deadline_ns() > LEAST_TIMEOUT_NS ? coordinate_deadline_ns() : LEAST_TIMEOUT_NS;
    if (!profiler->mpi_place(communicator, &file->rank, &file->ranks))
        return false;
    if (file->ranks == 1)
        return true;
    if (!mpi_copy_begin(communicator, &file->communicator, &file->telling))
        return false;
    *is_pending = !comes_about(&file->telling, timeout_ns);
    return !*is_pending;
}

/* A rank without room for the file asks for a copy as well, so that what the program itself asks of the communicator later has the same order on
 * all ranks. The others find then that it does not take part. */
void mpi_turns_opened(mpi_handle communicator, mpi_handle file)
{
    static _Atomic bool is_hopeless;
    struct turn_file without_room = { 0 };
    bool is_pending = false;
    if (is_hopeless)
        return;
    unsigned place = key_table_insert(&table, (uintptr_t)file);
    struct turn_file *entry = place != KEY_TABLE_NONE ? key_table_entry(&table, place) : &without_room;
    *entry = (struct turn_file){ 0 };
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    bool is_known = open_copy(communicator, entry, &is_pending);
    if (is_pending) {
        coordinate_give_up("not all ranks of the job take part; set SLICEWISE_COORDINATE and the library for all of them, or for none");
        profiler->count_wait(clock_read(CLOCK_MONOTONIC) - began, true);
        is_hopeless = true;
    }
    profiler->take_off(clock_read(CLOCK_MONOTONIC) - began);
    if (is_known && place != KEY_TABLE_NONE)
        key_table_publish(&table, place, (uintptr_t)file);
    else if (is_known && entry->communicator != NULL)
        mpi_copy_free(entry->communicator);
    else if (!is_known && !is_pending && place != KEY_TABLE_NONE)
        key_table_remove(&table, place, (uintptr_t)file);
}

unsigned mpi_turns_closing(mpi_handle file)
{
    return key_table_take(&table, (uintptr_t)file);
}

void mpi_turns_closed(unsigned place, mpi_handle handle)
{
    if (place == KEY_TABLE_NONE)
        return;
    struct turn_file *entry = key_table_entry(&table, place);
    if (entry->is_telling && comes_about(&entry->telling, 0))
        entry->is_telling = false;
    const struct turn_file file = *entry;
    if (!file.is_telling) /* else the number may still come to this place */
        key_table_remove(&table, place, (uintptr_t)handle);
    bool has_part = file.rank == 0 || coordinate_step() == TURN_STEP_round;
    bool is_last = !file.is_held || file.rank != 0 || atomic_fetch_sub(&held_files, 1) == 1;
    if (has_part && is_last)
        coordinate_end();
    if (file.communicator != NULL && !file.is_telling)
        mpi_copy_free(file.communicator);
}

static struct turn_file *file_of(mpi_handle file)
{
    unsigned place = key_table_find(&table, (uintptr_t)file);
    return place != KEY_TABLE_NONE ? key_table_entry(&table, place) : NULL;
}

static uint64_t bytes_of_all(const struct turn_file *file, mpi_count count, mpi_handle datatype)
{
    return (uint64_t)profiler->mpi_bytes_asked(count, datatype) * (uint64_t)file->ranks;
}

static void set_within(struct mpi_turn *turn, enum mpi_turns_within within)
{
    turn->within_before = turn_thread.within;
    turn_thread.within = within;
    turn_thread.waited_ns = 0;
}

/* What rank 0 told is here. */
static void hear(struct turn_file *file)
{
    file->is_telling = false;
    file->is_over = file->told > NO_LONGER / 2;
    file->is_held = !file->is_over && coordinate_step() == TURN_STEP_file;
    held_files += file->is_held && file->rank == 0;
    if (file->is_over) /* so that no process of the job waits for a deadline of its own */
        coordinate_stop();
}

/* Whether there is something to ask for, and all ranks know of that. A number that has not even come by now comes from a rank 0 that does not take
 * part: the rank goes on by itself. */
static bool has_turns(struct turn_file *file)
{
    if (file == NULL || file->is_over)
        return false;
    if (file->is_telling && comes_about(&file->telling, TELLING_NS))
        hear(file);
    file->is_over = file->is_over || file->is_telling;
    return !file->is_over;
}

static bool tell_all(struct turn_file *file)
{
    if (file->ranks == 1)
        return true;
    file->is_telling = mpi_copy_begin_telling(file->communicator, &file->told, &file->telling);
    file->is_over = !file->is_telling;
    return file->is_telling && comes_about(&file->telling, coordinate_deadline_ns() + TELLING_NS);
}

static struct mpi_turn begin(struct turn_file *file, mpi_count count, mpi_handle datatype)
{
    struct mpi_turn turn = { 0 };
    if (!has_turns(file))
        return turn;
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    turn.is_asker = file->rank == 0;
    turn.bytes = turn.is_asker ? bytes_of_all(file, count, datatype) : 0;
    if (file->is_held)
        return turn;
    if (turn.is_asker) {
        turn.waited_ns = coordinate_enter(turn.bytes, (uint32_t)file->ranks);
        file->told = coordinate_is_on() ? turn.waited_ns : NO_LONGER - 1 - turn.waited_ns; /* it may have waited and given up */
    }
    if (!tell_all(file))
        return turn;
    hear(file);
    uint64_t took = clock_read(CLOCK_MONOTONIC) - began, waited = file->is_over ? NO_LONGER - 1 - file->told : file->told;
    turn.waited_ns = took < waited ? took : waited;
    if (!turn.is_asker)
        profiler->count_wait(turn.waited_ns, true);
    return turn;
}

static void leave(uint64_t bytes)
{
    if (coordinate_step() == TURN_STEP_file)
        coordinate_moved(bytes);
    else
        coordinate_leave(bytes);
}

struct mpi_turn mpi_turns_begin(mpi_handle handle, mpi_count count, mpi_handle datatype)
{
    struct turn_file *file = file_of(handle);
    struct mpi_turn turn = begin(file, count, datatype);
    bool has_rounds = file != NULL && !file->is_over && coordinate_step() == TURN_STEP_round;
    set_within(&turn, !has_rounds ? MPI_TURNS_PASS : turn.is_asker ? MPI_TURNS_OWN_ROUND : MPI_TURNS_ROUND);
    return turn;
}

void mpi_turns_end(const struct mpi_turn *turn)
{
    turn_thread.within = turn->within_before;
    if (turn->is_asker)
        leave(turn->bytes);
    profiler->take_off(turn->waited_ns + turn_thread.waited_ns);
}

struct mpi_turn mpi_turns_begin_alone(void)
{
    struct mpi_turn turn = { 0 };
    set_within(&turn, MPI_TURNS_ALONE);
    return turn;
}

void mpi_turns_end_alone(const struct mpi_turn *turn)
{
    turn_thread.within = turn->within_before;
    profiler->take_off(turn_thread.waited_ns);
}

void mpi_turns_begin_split(mpi_handle handle, mpi_count count, mpi_handle datatype)
{
    struct turn_file *file = file_of(handle);
    struct mpi_turn turn = begin(file, count, datatype);
    if (file != NULL)
        file->split = turn;
}

void mpi_turns_end_split(mpi_handle handle)
{
    struct turn_file *file = file_of(handle);
    if (file == NULL)
        return;
    if (file->split.is_asker)
        leave(file->split.bytes);
    profiler->take_off(file->split.waited_ns);
    file->split = (struct mpi_turn){ 0 };
}

struct mpi_turn mpi_turns_start(mpi_handle handle, mpi_count count, mpi_handle datatype)
{
    struct turn_file *file = file_of(handle);
    struct mpi_turn turn = { 0 };
    turn.is_asker = file != NULL && file->rank == 0 && !file->is_over && coordinate_is_on();
    if (!turn.is_asker)
        return turn;
    turn.bytes = bytes_of_all(file, count, datatype);
    if (file->is_held)
        return turn;
    turn.waited_ns = coordinate_enter(turn.bytes, (uint32_t)file->ranks);
    return turn;
}

void mpi_turns_started(const struct mpi_turn *turn, uint64_t request)
{
    if (!turn->is_asker)
        return;
    unsigned place = request != 0 ? key_table_insert(&started_table, request) : KEY_TABLE_NONE;
    if (place == KEY_TABLE_NONE) {
        leave(turn->bytes);
        return;
    }
    *(struct started *)key_table_entry(&started_table, place) = (struct started){ turn->bytes, turn->waited_ns };
    key_table_publish(&started_table, place, request);
}

bool mpi_turns_any_started(void)
{
    return key_table_used(&started_table) != 0;
}

void mpi_turns_look(struct mpi_turns_look *look, int count, const void *requests, uint64_t (*request_of)(const void *, unsigned))
{
    look->count = 0;
    for (int i = 0; i < count && look->count < MPI_TURNS_STARTED_MOST; i++) {
        uint64_t request = request_of(requests, (unsigned)i);
        if (request == 0 || key_table_find(&started_table, request) == KEY_TABLE_NONE)
            continue;
        look->place[look->count] = (unsigned)i;
        look->request[look->count++] = request;
    }
}

/* What is complete is another request now. The turn is over with the last of those that are under way. */
void mpi_turns_looked(const struct mpi_turns_look *look, const void *requests, uint64_t (*request_of)(const void *, unsigned))
{
    uint64_t waited_ns = 0;
    bool is_any_over = false;
    for (unsigned i = 0; i < look->count; i++) {
        if (request_of(requests, look->place[i]) == look->request[i])
            continue;
        unsigned place = key_table_take(&started_table, look->request[i]);
        if (place == KEY_TABLE_NONE)
            continue;
        const struct started *done = key_table_entry(&started_table, place);
        atomic_fetch_add(&started_bytes, done->bytes);
        waited_ns += done->waited_ns;
        key_table_remove(&started_table, place, look->request[i]);
        is_any_over = true;
    }
    if (is_any_over && !mpi_turns_any_started())
        leave(atomic_exchange(&started_bytes, 0));
    profiler->take_off(waited_ns);
}

static void *gate_of(const char *name, void *found)
{
    void *gate = mpi_turns_gate_in_c(name, found);
    gate = gate != NULL ? gate : mpi_turns_gate_in_fortran(name, found);
    return gate != NULL ? gate : found;
}

void mpi_turns_put_gates(void)
{
    profiler->gate_mpi(gate_of);
}
