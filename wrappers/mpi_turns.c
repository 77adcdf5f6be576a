/* A job asks for its turn before a collective transfer of MPI-IO: gates between the wrappers in C and the functions of MPI, put there at the start
 * where SLICEWISE_COORDINATE asks for it, and only there. Rank 0 of the file's communicator asks and waits, and tells the others by a broadcast
 * in a communicator of our own, so that all of them begin together and none can wait for one that never comes. All ranks must take part: a file
 * that some of them open without us finds that no copy of the communicator comes about, and then nobody takes turns. A phase ends when the
 * file is closed, or by a pause. The wait lies within the wrapper's call, and is taken off its time. */
#include "coordinate.h"
#include "key_table.h"
#include "mpi_library.h"
#include "raw.h"

#include <string.h>

enum { FILES_MOST = 256, LOOK_AGAIN_NS = 100000 };
#define NO_LONGER UINT64_MAX
#define LEAST_PATIENCE_NS (60 * NS_PER_SECOND) /* for the other ranks to return from opening the file */

static struct key_table table = KEY_TABLE_OF(FILES_MOST);
static struct turn_file {
    mpi_handle communicator; /* NULL: nobody else has the file open */
    int rank, ranks;
    bool is_over; /* all ranks know it */
} files[FILES_MOST];

struct mpi_turn {
    uint64_t waited_ns, bytes;
    bool is_asker;
};

static bool comes_about(mpi_handle *request)
{
    const struct timespec pause = { .tv_nsec = LOOK_AGAIN_NS };
    uint64_t patience_ns = coordinate_deadline_ns() > LEAST_PATIENCE_NS ? coordinate_deadline_ns() : LEAST_PATIENCE_NS;
    uint64_t until_ns = clock_read(CLOCK_MONOTONIC) + patience_ns;
    while (!mpi_library_is_done(request)) {
        if (clock_read(CLOCK_MONOTONIC) > until_ns)
            return false;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return true;
}

/* A rank without room for the file does not ask for a copy, and so none comes about. */
static void enter_file(mpi_handle communicator, mpi_handle file)
{
    static _Atomic bool is_hopeless;
    struct turn_file entry = { 0 };
    mpi_handle request = NULL;
    unsigned place = is_hopeless ? KEY_TABLE_NONE : key_table_insert(&table, (uintptr_t)file);
    if (place == KEY_TABLE_NONE)
        return;
    uint64_t began = clock_read(CLOCK_MONOTONIC);
    bool is_known = mpi_library_place(communicator, &entry.rank, &entry.ranks) &&
                    (entry.ranks == 1 || mpi_library_begin_copy(communicator, &entry.communicator, &request));
    if (is_known && entry.ranks > 1 && !comes_about(&request)) {
        coordinate_give_up("not all ranks of the job take part; set SLICEWISE_COORDINATE and the library for all of them, or for none");
        coordinate_count(clock_read(CLOCK_MONOTONIC) - began, true);
        is_hopeless = true;
        is_known = false;
    }
    coordinate_take_off(ns_to_ticks(clock_read(CLOCK_MONOTONIC) - began));
    if (!is_known) {
        key_table_remove(&table, place, (uintptr_t)file);
        return;
    }
    files[place] = entry;
    key_table_publish(&table, place, (uintptr_t)file);
}

static struct turn_file *file_of(mpi_handle file)
{
    unsigned place = key_table_find(&table, (uintptr_t)file);
    return place != KEY_TABLE_NONE ? &files[place] : NULL;
}

static struct mpi_turn begin_turn(mpi_handle handle, mpi_count count, mpi_handle datatype)
{
    struct turn_file *file = file_of(handle);
    struct mpi_turn turn = { 0 };
    if (file == NULL || file->is_over)
        return turn;
    uint64_t began = clock_read(CLOCK_MONOTONIC), told = 0;
    turn.is_asker = file->rank == 0;
    turn.bytes = (uint64_t)mpi_library_bytes_asked(count, datatype) * (uint64_t)file->ranks;
    if (turn.is_asker) {
        told = coordinate_enter(turn.bytes, (uint32_t)file->ranks);
        turn.waited_ns = told;
        told = coordinate_is_on() ? told : NO_LONGER - 1 - told; /* it may have waited and given up */
    }
    if (file->ranks > 1 && !mpi_library_tell_all(file->communicator, &told))
        return turn;
    file->is_over = told > NO_LONGER / 2;
    uint64_t took = clock_read(CLOCK_MONOTONIC) - began, waited = file->is_over ? NO_LONGER - 1 - told : told;
    turn.waited_ns = took < waited ? took : waited;
    if (!turn.is_asker)
        coordinate_count(turn.waited_ns, true);
    return turn;
}

static void end_turn(const struct mpi_turn *turn)
{
    if (turn->is_asker)
        coordinate_leave(turn->bytes);
    coordinate_take_off(ns_to_ticks(turn->waited_ns));
}

static int (*next_open)(mpi_handle communicator, const char *name, int mode, mpi_handle info, mpi_handle *file);
static int (*next_close)(mpi_handle *file);

static int gate_open(mpi_handle communicator, const char *name, int mode, mpi_handle info, mpi_handle *file)
{
    int error = next_open(communicator, name, mode, info, file);
    if (error == 0)
        enter_file(communicator, *file);
    return error;
}

static int gate_close(mpi_handle *handle)
{
    unsigned place = handle != NULL ? key_table_take(&table, (uintptr_t)*handle) : KEY_TABLE_NONE;
    if (place == KEY_TABLE_NONE)
        return next_close(handle);
    const struct turn_file file = files[place];
    key_table_remove(&table, place, (uintptr_t)*handle);
    int error = next_close(handle);
    if (file.rank == 0)
        coordinate_end();
    if (file.communicator != NULL)
        mpi_library_free(file.communicator);
    return error;
}

#define TRANSFER_GATE(name) \
    static int (*next_##name)(mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *status); \
    static int gate_##name(mpi_handle file, void *buffer, mpi_count count, mpi_handle datatype, void *status) \
    { \
        struct mpi_turn turn = begin_turn(file, count, datatype); \
        int error = next_##name(file, buffer, count, datatype, status); \
        end_turn(&turn); \
        return error; \
    }
#define TRANSFER_AT_GATE(name) \
    static int (*next_##name)(mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *status); \
    static int gate_##name(mpi_handle file, mpi_offset offset, void *buffer, mpi_count count, mpi_handle datatype, void *status) \
    { \
        struct mpi_turn turn = begin_turn(file, count, datatype); \
        int error = next_##name(file, offset, buffer, count, datatype, status); \
        end_turn(&turn); \
        return error; \
    }
#define GATES(TRANSFER, TRANSFER_AT) \
    TRANSFER(MPI_File_read_all) TRANSFER(MPI_File_read_all_c) TRANSFER(MPI_File_write_all) TRANSFER(MPI_File_write_all_c) \
    TRANSFER_AT(MPI_File_read_at_all) TRANSFER_AT(MPI_File_read_at_all_c) TRANSFER_AT(MPI_File_write_at_all) \
    TRANSFER_AT(MPI_File_write_at_all_c)
GATES(TRANSFER_GATE, TRANSFER_AT_GATE)

static void *gate_of(const char *name, void *found)
{
    static const struct {
        const char *name;
        void *gate, **next;
    } gates[] = {
#define GATE_ROW(name) { #name, (void *)gate_##name, (void **)&next_##name },
        { "MPI_File_open", (void *)gate_open, (void **)&next_open },
        { "MPI_File_close", (void *)gate_close, (void **)&next_close },
        GATES(GATE_ROW, GATE_ROW)
    };
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
        if (strcmp(gates[i].name, name) == 0) {
            *gates[i].next = found;
            return gates[i].gate;
        }
    return found;
}

/* After the engine's own constructor, which has read the settings. */
__attribute__((constructor)) static void begin(void)
{
    if (coordinate_is_on())
        mpi_library_gate = gate_of;
}
