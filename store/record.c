#include "record.h"

#include "files.h"
#include "region.h"
#include "samples.h"
#include "unfinished.h"

#include <errno.h>
#include <string.h>

static union commit commit_of(const struct segment *segment)
{
    return (union commit){ .word = atomic_load_explicit(&segment->commit, memory_order_acquire) };
}

static int reserve_records(struct segment_home *home, uint32_t first, unsigned count)
{
    return segment_reserve(home, segment_record(home->segment, first + count - 1), count * sizeof(struct record));
}

/* What would be lost otherwise goes straight to the spool, if that is on a disk of the node's own: for no other does a program wait here. */
static int pack_closed(struct segment_home *home, bool may_drop)
{
    int packed = pack_records(home, false, 0);
    if (packed == 0 || !may_drop || !home->is_drained_apart)
        return packed;
    home->is_drained_apart = false;
    packed = pack_records(home, false, 0);
    home->is_drained_apart = true;
    return packed;
}

/* Makes room for `count` more records, and reserves their memory: what is closed becomes a frame where there is no more of either. Returns
 * false if there is none; then records that were closed before are lost, but only where they may be. */
static bool make_room(struct segment_home *home, unsigned count, bool may_drop)
{
    struct segment *segment = home->segment;
    union commit commit = commit_of(segment);
    if (commit.records + count <= RECORDS_MAX && reserve_records(home, commit.records, count) == 0)
        return true;
    if (commit.records > 0 && pack_closed(home, may_drop) < 0) {
        if (!may_drop)
            return false;
        segment_count_problem(segment, PROBLEM_records_dropped);
        commit = commit_of(segment);
        commit.records = 0;
        atomic_store_explicit(&segment->commit, commit.word, memory_order_release);
    }
    if (reserve_records(home, 0, count) == 0)
        return true;
    if (!may_drop)
        return false;
    segment_count_problem(segment, PROBLEM_records_dropped);
    return false;
}

static void begin_totals(struct segment *segment)
{
    atomic_store_explicit(&segment->totals_turn, segment->totals_turn + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void end_totals(struct segment *segment)
{
    atomic_store_explicit(&segment->totals_turn, segment->totals_turn + 1, memory_order_release);
}

static void add_to_totals(struct segment *segment, const struct record *record)
{
    const uint64_t *counter = record->counts.counter;
    if (record->layer == LAYER_mpiio || record->layer == LAYER_mpiio_coll || record->layer >= RECORD_COMMUNICATION)
        return;
    struct total *total = segment_total(segment, record->mount);
    for (int kind = 0; kind < TOTAL_KINDS && record->layer != LAYER_kernel; kind++) {
        total->ops[kind] += counter[COUNTER_read_ops + kind];
        total->ns[kind] += counter[COUNTER_read_ns + kind];
    }
    uint64_t *bytes = record->layer == LAYER_kernel ? segment->kernel_bytes : total->bytes;
    for (int kind = 0; kind < MOVING_KINDS; kind++)
        bytes[kind] += counter[COUNTER_read_bytes + kind];
}

bool record_append(struct segment_home *home, const struct record *record)
{
    struct segment *segment = home->segment;
    if (!make_room(home, 1, !home->is_drained_apart))
        return false;
    union commit commit = commit_of(segment);
    *segment_record(segment, commit.records++) = *record;
    begin_totals(segment);
    add_to_totals(segment, record);
    end_totals(segment);
    atomic_store_explicit(&segment->commit, commit.word, memory_order_release);
    return true;
}

/* MPI-IO's calls have calls below them that are counted as well, and requests run beside the program: they take no time of it. */
void lane_sums(struct segment *segment, uint32_t index, uint64_t sums[REGION_SUMS])
{
    const struct lane *lane = segment_lane(segment, index);
    const uint64_t *closed = lane_closed(segment, index);
    for (unsigned sum = 0; sum < REGION_SUMS; sum++)
        sums[sum] = closed != NULL ? closed[sum] : 0;
    for (uint32_t i = 0; i < lane->cells_used && i < CELLS; i++) {
        const struct cell *cell = &lane->cells[i];
        if ((cell->layer > LAYER_stdio && cell->layer != LAYER_async) || segment->mounts[cell->mount % MOUNTS_MAX][mounts_object] != OBJECT_file)
            continue;
        sums[REGION_SUM(regions_read_bytes)] += cell->counts.counter[COUNTER_read_bytes];
        sums[REGION_SUM(regions_write_bytes)] += cell->counts.counter[COUNTER_write_bytes];
        sums[REGION_SUM(regions_calls)] += cell->served[KIND_read] + cell->served[KIND_write];
        for (enum call_kind kind = KIND_read; kind <= KIND_sync; kind++) {
            sums[REGION_SUM(regions_calls)] += cell->counts.counter[COUNTER_read_ops + kind];
            sums[REGION_SUM(regions_io_ns)] += cell->layer != LAYER_async ? cell->counts.counter[COUNTER_read_ns + kind] : 0;
        }
    }
    for (unsigned class = 0; class < MPI_CLASSES; class++)
        sums[REGION_SUM(regions_mpi_ns)] += lane->communicated[class].ns;
}

static void empty_lane(struct lane *lane)
{
    memset(lane->cell_of, 0, sizeof lane->cell_of);
    memset(lane->was_counted, 0, sizeof lane->was_counted);
    for (unsigned i = 0; i < STREAMS; i++)
        stream_is_unusual(&lane->streams[i]);
    memset(lane->communicated, 0, sizeof lane->communicated);
    lane->cells_used = 0;
    atomic_fetch_add_explicit(&lane->generation, 1, memory_order_release);
}

bool lane_close(struct segment_home *home, uint32_t index, bool may_drop)
{
    struct segment *segment = home->segment;
    struct lane *lane = segment_lane(segment, index);
    uint32_t used = lane->cells_used < CELLS ? lane->cells_used : CELLS;
    bool has_communication = lane_has_communicated(lane);
    uint32_t records = used + has_communication;
    bool has_room = records == 0 || make_room(home, records, may_drop);
    if (!has_room && !may_drop)
        return false;
    if (lane_closed(segment, index) != NULL) /* the next generation begins with all that this one has */
        lane_sums(segment, index, segment->regions.closed[index][(atomic_load(&lane->generation) + 1) & 1]);
    begin_totals(segment);
    if (records > 0 && has_room) {
        union commit commit = commit_of(segment);
        for (uint32_t i = 0; i < used; i++) {
            const struct cell *cell = &lane->cells[i];
            struct record *record = segment_record(segment, commit.records++);
            record->slice = lane->slice;
            record->mount = cell->mount;
            record->layer = cell->layer;
            cell_counts(cell, &record->counts);
            add_to_totals(segment, record);
        }
        if (has_communication) {
            struct record *record = segment_record(segment, commit.records++);
            *record = (struct record){ .slice = lane->slice, .layer = RECORD_COMMUNICATION };
            memcpy(record->communicated, lane->communicated, sizeof record->communicated);
        }
        /* Killed before the commit, the lane still counts; killed after it, the records do, until the generation moves on. */
        atomic_store_explicit(&segment->closing_commit, 0, memory_order_release);
        atomic_store_explicit(&segment->closing_lane, index, memory_order_release);
        atomic_store_explicit(&segment->closing_generation, atomic_load(&lane->generation), memory_order_release);
        atomic_store_explicit(&segment->closing_commit, commit.word, memory_order_release);
        atomic_store_explicit(&segment->commit, commit.word, memory_order_release);
    }
    empty_lane(lane);
    end_totals(segment);
    return has_room;
}

/* If a process died while it closed a lane, this empties the lane, provided that its counts are in the records already. It comes before any other
 * closing, which would forget which lane that was. */
static void finish_interrupted_close(struct segment *segment)
{
    uint32_t index = atomic_load(&segment->closing_lane);
    if (index >= LANES_MAX || index >= segment->lanes_used || atomic_load(&segment->closing_commit) == 0)
        return;
    struct lane *lane = segment_lane(segment, index);
    if (atomic_load(&segment->closing_commit) == commit_of(segment).word &&
        atomic_load(&segment->closing_generation) == atomic_load(&lane->generation))
        empty_lane(lane);
}

void stream_settle(struct segment_home *home, struct lane *lane, struct stream *stream)
{
    files_add(home, lane, stream);
    stream->descriptor = 0;
    stream->file = 0;
}

/* One whose row is in a frame already. */
static uint32_t packed_place(const struct ledger *ledger, unsigned rows_max)
{
    uint32_t place = 0;
    while (place < ledger->used && ledger_is_unpacked(ledger, place))
        place++;
    return place < ledger->used ? place : rows_max;
}

uint32_t ledger_place(struct segment_home *home, struct ledger *ledger, const uint64_t *rows, size_t columns, unsigned rows_max)
{
    if (ledger->used < rows_max && segment_reserve(home, &rows[ledger->used * columns], columns * sizeof *rows) == 0)
        return ledger->used++;
    uint32_t place = packed_place(ledger, rows_max);
    if (place == rows_max && pack_records(home, false, 0) == 0)
        place = packed_place(ledger, rows_max);
    return place;
}

int segment_close(struct segment_home *home, enum ending ending, uint64_t end_ns, uint32_t flags)
{
    struct segment *segment = home->segment;
    if (segment->is_of_node)
        return samples_pack(home, flags);
    if (segment->is_last_packed)
        return 0;
    const bool may_drop = !home->is_drained_apart;
    /* Written, but not committed: the same records under the same number once more, and nothing else with them. */
    union commit commit = commit_of(segment);
    if (atomic_load(&segment->past_frame) == commit.next_frame + 1)
        pack_records(home, false, flags);
    finish_interrupted_close(segment);
    /* First, so that whoever finishes it knows, should there be neither room nor memory for the rest. */
    segment->process_row[processes_ending] = ending;
    segment->process_row[processes_end_ns] = end_ns;
    region_end_all(home, end_ns);
    if (ending == ENDING_killed)
        unfinished_add(home);
    uint32_t lanes = segment->lanes_used < LANES_MAX ? segment->lanes_used : LANES_MAX;
    for (uint32_t i = 0; i < lanes; i++) {
        struct lane *lane = segment_lane(segment, i);
        for (unsigned s = 0; s < STREAMS; s++)
            if (lane->streams[s].descriptor != 0)
                stream_settle(home, lane, &lane->streams[s]);
        if (!lane_close(home, i, may_drop) && !may_drop)
            return -ENOBUFS;
    }
    files_close(home);
    return pack_records(home, true, flags);
}

int segment_finish(struct segment_home *home, enum ending ending, uint64_t end_ns, uint32_t flags)
{
    int closed = segment_close(home, ending, end_ns, flags);
    return closed < 0 ? closed : drain_frames(home);
}
