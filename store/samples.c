#include "samples.h"

#include "encode.h"
#include "format.h"
#include "record.h"

#include <errno.h>
#include <string.h>

enum { ROWS_A_CHUNK = FILES_MAX };

static union commit commit_of(const struct segment *segment)
{
    return (union commit){ .word = atomic_load_explicit(&segment->commit, memory_order_acquire) };
}

static const uint64_t *words_of(const struct segment *segment)
{
    return (const uint64_t *)(const void *)segment->records;
}

unsigned samples_kept(const struct segment *segment)
{
    return commit_of(segment).records;
}

void sample_begin(struct sample *sample)
{
    sample->words[0] = 1;
}

void sample_add(struct sample *sample, enum table table, const uint64_t *rows, unsigned count)
{
    uint64_t *used = &sample->words[0];
    size_t words = (size_t)count * encode_columns(table);
    if (count == 0 || *used + 1 + words > SAMPLE_WORDS_MAX)
        return;
    sample->words[*used] = (uint64_t)table << 32 | count;
    memcpy(&sample->words[*used + 1], rows, words * sizeof *rows);
    *used += 1 + words;
}

/* Where the sample after this one begins: never beyond the end, whatever a segment says. */
static size_t end_of_sample(const uint64_t *words, size_t begin)
{
    return begin < SAMPLE_WORDS_MAX && words[begin] > 0 && words[begin] <= SAMPLE_WORDS_MAX - begin ? begin + words[begin] : SAMPLE_WORDS_MAX;
}

static size_t words_used(const struct segment *segment)
{
    size_t used = 0;
    for (unsigned i = 0; i < samples_kept(segment); i++)
        used = end_of_sample(words_of(segment), used);
    return used;
}

/* The rows of a table in the sample from `begin` to `end`. */
static const uint64_t *rows_of(const uint64_t *words, size_t begin, size_t end, enum table table, uint32_t *count)
{
    for (size_t at = begin + 1; at < end;) {
        uint32_t of_table = (uint32_t)(words[at] >> 32), rows = (uint32_t)words[at];
        size_t columns = of_table < TABLES ? encode_columns((enum table)of_table) : 0;
        if (columns == 0 || rows > (end - at - 1) / columns)
            break;
        if (of_table == (uint32_t)table) {
            *count = rows;
            return &words[at + 1];
        }
        at += 1 + rows * columns;
    }
    *count = 0;
    return NULL;
}

static void encode_table_of_samples(struct encoder *encoder, const struct segment *segment, enum table table)
{
    static const uint64_t *rows[ROWS_A_CHUNK];
    const uint64_t *words = words_of(segment);
    unsigned used = 0;
    for (size_t begin = 0, end, i = 0; i < samples_kept(segment); i++, begin = end) {
        uint32_t count;
        end = end_of_sample(words, begin);
        const uint64_t *first = rows_of(words, begin, end, table, &count);
        if (table == TABLE_nodes && count > 0)
            used = 0; /* the collector's own row: the last one stands for all */
        for (uint32_t row = 0; row < count; row++) {
            if (used == ROWS_A_CHUNK) {
                encode_rows(encoder, segment, table, rows, used);
                used = 0;
            }
            rows[used++] = first + (size_t)row * encode_columns(table);
        }
    }
    encode_rows(encoder, segment, table, rows, used);
}

static void encode_samples(struct encoder *encoder, const struct segment *segment, const void *argument)
{
    (void)argument;
    encode_table_of_samples(encoder, segment, TABLE_launches);
    for (unsigned table = TABLE_nodes; table <= TABLE_node_lustre; table++)
        encode_table_of_samples(encoder, segment, (enum table)table);
    encode_table_of_samples(encoder, segment, TABLE_node_connections);
    for (unsigned table = TABLE_node_processes; table <= TABLE_node_limits; table++)
        encode_table_of_samples(encoder, segment, (enum table)table);
}

/* Every frame is flagged as the last: a collector that is killed has written a whole profile none the less, up to there. */
int samples_pack(struct segment_home *home, uint32_t flags)
{
    return samples_kept(home->segment) == 0 ? 0 : pack_payload(home, encode_samples, NULL, flags | FORMAT_LAST_FRAME);
}

static bool has_room(struct segment_home *home, size_t words)
{
    struct segment *segment = home->segment;
    size_t used = words_used(segment);
    return samples_kept(segment) < SAMPLES_MAX && words <= SAMPLE_WORDS_MAX - used &&
           segment_reserve(home, words_of(segment) + used, words * sizeof(uint64_t)) == 0;
}

int samples_append(struct segment_home *home, const struct sample *sample)
{
    struct segment *segment = home->segment;
    size_t words = sample->words[0];
    /* A frame of the very samples that are kept may be in the spool already: nothing joins them until that is certain. */
    bool is_frame_pending = atomic_load(&segment->past_frame) == commit_of(segment).next_frame + 1;
    if (is_frame_pending || !has_room(home, words)) {
        int packed = samples_pack(home, 0);
        if (packed < 0)
            return packed;
        if (!has_room(home, words))
            return -ENOSPC;
    }
    memcpy((uint64_t *)(void *)segment->records + words_used(segment), sample->words, words * sizeof(uint64_t));
    union commit commit = commit_of(segment);
    commit.records++;
    atomic_store_explicit(&segment->commit, commit.word, memory_order_release);
    return 0;
}
