#include "record.h"

#include "encode.h"
#include "files.h"
#include "format.h"
#include "raw.h"
#include "sections.h"
#include "schema_frame.inc"
#include "scratch.h"
#include "sparse.h"

#define ZSTD_STATIC_LINKING_ONLY
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>

/* The most that a payload takes: a full table of files with its text, a full batch of records of 8-byte values, and full tables of call
 * sites, whose stacks are packed before there are more. */
#define PAYLOAD_BYTES \
    (sizeof(uint64_t) * (FILES_MAX * (FILE_COLUMNS + FILE_NAME_BYTES / 8) + SITE_ROWS_MAX * SITE_COLUMNS + HARDWARE_ROWS_MAX * HARDWARE_COLUMNS + \
                         WAIT_ROWS_MAX * WAIT_COLUMNS + USAGE_ROWS_MAX * USAGE_COLUMNS + LIBRARY_FUNCTIONS * LIBRARY_CALL_COLUMNS + \
                         (REGION_ROWS_MAX + REGION_NAMES_MAX) * (REGION_COLUMNS + REGION_NAME_BYTES / 8)) + \
     TEXT_BYTES + RECORDS_MAX * sizeof(struct record) * 2 + SITE_MODULES_MAX * (size_t)512 + (16 << 10) + \
     (SITE_FRAMES_UNPACKED_MAX + SITE_DEPTH_MAX) * (FRAME_COLUMNS * sizeof(uint64_t) + PYTHON_NAME_BYTES + PYTHON_FILE_BYTES))

/* A small window and small tables: the context costs the application some tens of kilobytes while it packs, and none afterwards. No
 * other strategy of zstd is linked (make/zstd_unused). */
/* clang-format off */
static const ZSTD_compressionParameters packing = {
    .windowLog = 17, .chainLog = 12, .hashLog = 12, .searchLog = 1, .minMatch = 4, .targetLength = 0, .strategy = ZSTD_fast,
};
/* clang-format on */

union scratch scratch __attribute__((aligned(PAGE_BYTES)));

enum { LITTLE_BYTES = 2048, LITTLE_HASH_LOG = 8 };

/* Compresses into `frame`. Returns its size, or 0. */
static size_t compress(void *workspace, size_t workspace_bytes, void *frame, size_t room, const void *payload, size_t bytes)
{
    /* Entropy coding of so little costs more time than it saves bytes. */
    bool is_little = bytes < LITTLE_BYTES;
    ZSTD_CCtx *context = ZSTD_initStaticCCtx(workspace, workspace_bytes);
    if (context == NULL)
        return 0;
    /* clang-format off */
    const struct { ZSTD_cParameter parameter; int value; } parameters[] = {
        { ZSTD_c_windowLog, (int)packing.windowLog }, { ZSTD_c_chainLog, (int)packing.chainLog },
        { ZSTD_c_hashLog, is_little ? LITTLE_HASH_LOG : (int)packing.hashLog }, { ZSTD_c_literalCompressionMode, is_little ? ZSTD_ps_disable : ZSTD_ps_auto },
        { ZSTD_c_searchLog, (int)packing.searchLog }, { ZSTD_c_minMatch, (int)packing.minMatch }, { ZSTD_c_strategy, packing.strategy },
        { ZSTD_c_contentSizeFlag, 1 }, { ZSTD_c_checksumFlag, 1 }, /* a static context has no defaults */
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        if (ZSTD_isError(ZSTD_CCtx_setParameter(context, parameters[i].parameter, parameters[i].value)))
            return 0;
    size_t packed = ZSTD_compress2(context, frame, room, payload, bytes);
    return ZSTD_isError(packed) ? 0 : packed;
}

static uint32_t at_most(uint32_t number, uint32_t most)
{
    return number < most ? number : most;
}

static void encode_calls(struct encoder *encoder, const struct segment *segment)
{
    uint64_t rows[OPERATIONS][CALL_COLUMNS];
    unsigned count = 0;
    uint32_t lanes = at_most(segment->lanes_used, LANES_MAX);
    for (unsigned operation = 0; operation < OPERATIONS; operation++) {
        const uint64_t *at = &((const struct lane *)segment->lanes[0])->calls[operation];
        uint64_t calls = 0;
        for (uint32_t lane = 0; lane < lanes; lane++, at += LANE_BYTES / sizeof *at)
            calls += *at;
        if (calls == 0)
            continue;
        rows[count][calls_operation] = operation;
        rows[count++][calls_calls] = calls;
    }
    encode_table(encoder, segment, TABLE_calls, rows[0], count);
}

const unsigned char library_of_function[LIBRARY_FUNCTIONS] = {
#define LIBRARY_FUNCTION(library, name) LIBRARY_##library,
#include "libraries.def"
};

static void encode_library_calls(struct encoder *encoder, const struct segment *segment)
{
    uint64_t *rows = scratch.changed;
    unsigned count = 0;
    for (unsigned function = 0; segment->has_library_calls != 0 && function < LIBRARY_FUNCTIONS; function++) {
        const struct library_called *called = &segment->library_calls[function];
        if (called->calls != 0)
            memcpy(rows + (size_t)LIBRARY_CALL_COLUMNS * count++,
                   (uint64_t[LIBRARY_CALL_COLUMNS]){ function, library_of_function[function], called->calls, called->ns, called->file_ns,
                                                     called->mpi_ns },
                   LIBRARY_CALL_COLUMNS * sizeof *rows);
    }
    encode_table(encoder, segment, TABLE_library_calls, rows, count);
}

static void encode_files(struct encoder *encoder, const struct segment *segment)
{
    unsigned count = files_rows(segment, &scratch.files);
    encode_table(encoder, segment, TABLE_files, scratch.files.row[0], count);
}

static void encode_problems(struct encoder *encoder, const struct segment *segment)
{
    uint64_t rows[PROBLEMS][PROBLEM_COLUMNS];
    unsigned count = 0;
    for (unsigned problem = 0; problem < PROBLEMS; problem++) {
        if (segment->problems[problem] == 0)
            continue;
        rows[count][mishaps_mishap] = problem;
        rows[count++][mishaps_count] = segment->problems[problem];
    }
    encode_table(encoder, segment, TABLE_mishaps, rows[0], count);
}

/* A program that was taken back (its exec failed after all) has been begun 0 times. */
static void encode_unprofiled(struct encoder *encoder, const struct segment *segment)
{
    uint64_t rows[UNPROFILED_MAX][UNPROFILED_COLUMNS];
    unsigned count = 0;
    for (uint32_t i = 0; i < segment->unprofiled_used && i < UNPROFILED_MAX; i++)
        if (segment->unprofiled[i][unprofiled_times] > 0)
            memcpy(rows[count++], segment->unprofiled[i], sizeof rows[0]);
    encode_table(encoder, segment, TABLE_unprofiled, rows[0], count);
}

/* The rows that changed since they were last packed. `rows` has those of a ledger, `columns` wide. */
static void encode_ledger(struct encoder *encoder, const struct segment *segment, enum table table, const struct ledger *ledger, const uint64_t *rows,
                          unsigned columns, uint32_t rows_max)
{
    uint64_t *changed = scratch.changed;
    unsigned count = 0;
    for (uint32_t i = 0; i < at_most(ledger->used, rows_max); i++)
        if (ledger_is_unpacked(ledger, i))
            memcpy(changed + (size_t)columns * count++, rows + (size_t)columns * i, columns * sizeof *rows);
    encode_table(encoder, segment, table, changed, count);
}
_Static_assert(HARDWARE_ROWS_MAX *(int)HARDWARE_COLUMNS <= SITE_ROWS_MAX * (int)SITE_COLUMNS &&
                   WAIT_ROWS_MAX * (int)WAIT_COLUMNS <= SITE_ROWS_MAX * (int)SITE_COLUMNS &&
                   USAGE_ROWS_MAX * (int)USAGE_COLUMNS <= SITE_ROWS_MAX * (int)SITE_COLUMNS &&
                   LIBRARY_FUNCTIONS * (int)LIBRARY_CALL_COLUMNS <= SITE_ROWS_MAX * (int)SITE_COLUMNS &&
                   REGION_ROWS_MAX * (int)REGION_COLUMNS <= SITE_ROWS_MAX * (int)SITE_COLUMNS,
               "one buffer does for all");

static void encode_sites(struct encoder *encoder, const struct segment *segment)
{
    uint32_t modules = at_most(segment->modules_used, SITE_MODULES_MAX), frames = at_most(segment->frames_used, SITE_FRAMES_MAX);
    if (modules > segment->modules_packed)
        encode_table(encoder, segment, TABLE_modules, segment->modules[segment->modules_packed], modules - segment->modules_packed);
    if (frames > segment->frames_packed)
        encode_table(encoder, segment, TABLE_frames, segment->site_frames[segment->frames_packed],
                     at_most(frames - segment->frames_packed, SITE_FRAMES_UNPACKED_MAX + SITE_DEPTH_MAX));
    encode_ledger(encoder, segment, TABLE_sites, &segment->site_ledger, segment->sites[0], SITE_COLUMNS, SITE_ROWS_MAX);
}

static void encode_hardware(struct encoder *encoder, const struct segment *segment, bool is_first)
{
    if (is_first)
        encode_table(encoder, segment, TABLE_events, segment->events[0], at_most(segment->events_used, EVENTS_MAX));
    encode_ledger(encoder, segment, TABLE_hardware, &segment->hardware_ledger, segment->hardware[0], HARDWARE_COLUMNS, HARDWARE_ROWS_MAX);
}

static void encode_regions(struct encoder *encoder, const struct segment *segment, bool is_last)
{
    const struct regions *regions = &segment->regions;
    if (segment->has_regions == 0)
        return;
    encode_ledger(encoder, segment, TABLE_regions, &regions->ledger, regions->rows[0], REGION_COLUMNS, REGION_ROWS_MAX);
    uint64_t *rows = scratch.changed;
    unsigned count = 0;
    for (unsigned place = 0; is_last && place < at_most(regions->names_used, REGION_NAMES_MAX); place++) {
        const uint64_t *row = regions->names[place].sums[regions->names[place].counts & 1].row;
        if (row[regions_occurrences] > 0)
            memcpy(rows + (size_t)REGION_COLUMNS * count++, row, REGION_COLUMNS * sizeof *rows);
    }
    encode_table(encoder, segment, TABLE_regions, rows, count);
}

static void encode_payload(struct encoder *encoder, const struct segment *segment, const void *argument)
{
    const bool is_last = *(const bool *)argument;
    unsigned records = (union commit){ .word = atomic_load(&segment->commit) }.records;
    if (is_last || !segment->is_process_packed)
        encode_table(encoder, segment, TABLE_processes, segment->process_row, 1);
    uint32_t packed = segment->mounts_packed, used = segment->mounts_used < MOUNTS_MAX ? segment->mounts_used : MOUNTS_MAX;
    if (used > packed)
        encode_table(encoder, segment, TABLE_mounts, segment->mounts[packed], used - packed);
    records = at_most(records, RECORDS_MAX);
    encode_records(encoder, segment->records + RECORDS_MAX - records, records);
    encode_communication(encoder, segment, segment->records + RECORDS_MAX - records, records);
    encode_sites(encoder, segment);
    encode_hardware(encoder, segment, is_last || !segment->is_process_packed);
    encode_ledger(encoder, segment, TABLE_waits, &segment->wait_ledger, segment->waits[0], WAIT_COLUMNS, WAIT_ROWS_MAX);
    encode_ledger(encoder, segment, TABLE_usage, &segment->usage_ledger, segment->usage[0], USAGE_COLUMNS, USAGE_ROWS_MAX);
    encode_regions(encoder, segment, is_last);
    if (!is_last)
        return;
    encode_files(encoder, segment);
    encode_calls(encoder, segment);
    encode_library_calls(encoder, segment);
    encode_problems(encoder, segment);
    encode_unprofiled(encoder, segment);
}

/* Appends a frame, whose envelope is to be filled in, to `segment->frames`. If it does not fit: drains first, and goes straight to the spool if
 * shared memory is full; of a segment that is drained apart it is -ENOBUFS. Returns 0 or -errno. */
static int store_frame(struct segment_home *home, struct format_envelope *envelope, size_t bytes, uint32_t flags)
{
    struct segment *segment = home->segment;
    union commit commit = { .word = atomic_load(&segment->commit) };
    if (commit.frame_bytes > 0 && collected_frames(segment) == commit.next_frame) { /* a collector has taken them all */
        commit.frame_bytes = 0;
        atomic_store(&segment->commit, commit.word); /* before the memory is used again: the collector looks at it after it has copied */
    }
    if (home->is_drained_apart &&
        (commit.frame_bytes + bytes > FRAMES_BYTES || segment_reserve(home, segment->frames + commit.frame_bytes, bytes) < 0))
        return -ENOBUFS;
    if (commit.frame_bytes + bytes > FRAMES_BYTES) {
        segment_count_problem(segment, PROBLEM_segment_full);
        int drained = drain_frames(home);
        if (drained < 0)
            return drained;
        commit.word = atomic_load(&segment->commit);
    }
    if (commit.frame_bytes + bytes > FRAMES_BYTES)
        return -EFBIG;
    format_envelope_fill(envelope, segment->process, commit.next_frame, (uint32_t)(bytes - sizeof *envelope), SCHEMA_ID, flags);
    unsigned char *out = segment->frames + commit.frame_bytes;
    if (segment_reserve(home, out, bytes) == 0) {
        memcpy(out, envelope, bytes);
        commit.frame_bytes += (uint32_t)bytes;
    } else {
        atomic_store(&segment->past_frame, commit.next_frame + 1);
        int drained = drain_past_segment(home, envelope, bytes);
        if (drained < 0)
            return drained;
        commit.frame_bytes = 0;
    }
    uint32_t mounts_used = segment->mounts_used;
    commit.next_frame++;
    commit.records = 0;
    atomic_store(&segment->commit, commit.word);
    /* After the commit: killed in between, these rows are packed once more, which replaces them by themselves. */
    segment->is_process_packed = 1;
    segment->mounts_packed = mounts_used;
    segment->modules_packed = at_most(segment->modules_used, SITE_MODULES_MAX);
    segment->frames_packed = at_most(segment->frames_used, SITE_FRAMES_MAX);
    ledger_packed(&segment->site_ledger);
    ledger_packed(&segment->hardware_ledger);
    ledger_packed(&segment->wait_ledger);
    ledger_packed(&segment->usage_ledger);
    if (segment->has_regions != 0)
        ledger_packed(&segment->regions.ledger);
    if ((flags & FORMAT_LAST_FRAME) != 0)
        segment->is_last_packed = 1;
    return 0;
}

/* A payload that is hardly worth compressing, as a zstd frame of one raw block: what most processes have. No context is set up for it, and nothing
 * mapped. Returns false, and has stored nothing, if the payload is larger. */
enum { RAW_BYTES = 1280, RAW_HEAD_BYTES = 12, RAW_CHECKSUM_BYTES = 4 };
unsigned long long ZSTD_XXH64(const void *input, size_t bytes, unsigned long long seed);

static void put_little_endian(unsigned char *out, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> (8 * i));
}

static bool pack_raw(struct segment_home *home, void (*encode)(struct encoder *, const struct segment *, const void *), const void *argument,
                     uint32_t flags, int *stored)
{
    enum { SINGLE_SEGMENT = 1 << 5, CONTENT_CHECKSUM = 1 << 2, CONTENT_SIZE_OF_4_BYTES = 2 << 6, LAST_BLOCK = 1 };
    static HOME_DATA unsigned char frame[sizeof(struct format_envelope) + RAW_HEAD_BYTES + RAW_BYTES + RAW_CHECKSUM_BYTES]
        __attribute__((aligned(8)));
    unsigned char *head = frame + sizeof(struct format_envelope), *payload = head + RAW_HEAD_BYTES;
    struct encoder encoder = { .begin = payload, .at = payload, .end = payload + RAW_BYTES };
    encode(&encoder, home->segment, argument);
    if (encoder.is_overflowing)
        return false;
    uint32_t bytes = (uint32_t)(encoder.at - encoder.begin);
    put_little_endian(head, ZSTD_MAGICNUMBER, 4);
    head[4] = SINGLE_SEGMENT | CONTENT_CHECKSUM | CONTENT_SIZE_OF_4_BYTES;
    put_little_endian(head + 5, bytes, 4);
    put_little_endian(head + 9, bytes << 3 | LAST_BLOCK, 3);
    put_little_endian(encoder.at, (uint32_t)ZSTD_XXH64(payload, bytes, 0), RAW_CHECKSUM_BYTES);
    *stored = store_frame(home, (struct format_envelope *)frame, (size_t)(encoder.at + RAW_CHECKSUM_BYTES - frame), flags);
    return true;
}

int pack_payload(struct segment_home *home, void (*encode)(struct encoder *, const struct segment *, const void *), const void *argument,
                 uint32_t flags)
{
    struct segment *segment = home->segment;
    int stored_raw;
    if (pack_raw(home, encode, argument, flags, &stored_raw))
        return stored_raw;
    size_t frame_room = sizeof(struct format_envelope) + ZSTD_compressBound(PAYLOAD_BYTES),
           context_bytes = ZSTD_estimateCCtxSize_usingCParams(packing);
    size_t memory_bytes = PAYLOAD_BYTES + frame_room + context_bytes + 64;
    unsigned char *memory = (unsigned char *)sparse_map(memory_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    struct encoder encoder = { .begin = memory, .at = memory, .end = memory + PAYLOAD_BYTES };
    encode(&encoder, segment, argument);

    size_t payload = (size_t)(encoder.at - encoder.begin);
    unsigned char *frame = memory + PAYLOAD_BYTES, *workspace = (unsigned char *)(((uintptr_t)frame + frame_room + 63) & ~(uintptr_t)63);
    unsigned char *content = frame + sizeof(struct format_envelope);
    size_t packed = encoder.is_overflowing ? 0 : compress(workspace, context_bytes, content, workspace - content, encoder.begin, payload);
    int stored = -EIO;
    if (packed == 0)
        segment_count_problem(segment, PROBLEM_packing_failed);
    else
        stored = store_frame(home, (struct format_envelope *)frame, sizeof(struct format_envelope) + packed, flags);
    syscall(SYS_munmap, memory, memory_bytes);
    return stored;
}

int pack_records(struct segment_home *home, bool is_last, uint32_t flags)
{
    return pack_payload(home, encode_payload, &is_last, flags | (is_last ? FORMAT_LAST_FRAME : 0u));
}
