/* The book of frames: which of those that were read count (of each process and number the first), which are missing, and what of the
 * damage is told. */
#include "inside.h"

#include "format.h"
#include "schema_frame.inc"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A frame or a hole of a process, as it arrived: files in their order; frames that came before their schema arrive after all others. */
struct arrival {
    uint64_t process;
    uint32_t number;
    uint32_t place; /* in the order of arrival */
};
struct arrived {
    struct frame *frame;
    struct reader_hole *hole;
    uint32_t file;
};

struct source {
    struct reader *reader;
    uint32_t number, first_file, end_file;
    struct list arrived;  /* struct arrived */
    struct list arrivals; /* struct arrival, in the order of process and number, and then of arrival */
    struct reader_source *told;
};

static int by_process_and_number(const void *one, const void *other)
{
    const struct arrival *a = one, *b = other;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static bool is_sorted(const struct list *arrivals)
{
    const struct arrival *items = arrivals->items;
    for (size_t i = 1; i < arrivals->count; i++)
        if (by_process_and_number(&items[i - 1], &items[i]) > 0)
            return false;
    return true;
}

static int add_arrival(struct source *source, struct frame *frame, struct reader_hole *hole, uint32_t file)
{
    struct arrived *arrived = list_add(&source->arrived, sizeof *arrived);
    struct arrival *arrival = list_add(&source->arrivals, sizeof *arrival);
    if (arrived == NULL || arrival == NULL)
        return -ENOMEM;
    *arrived = (struct arrived){ frame, hole, file };
    *arrival = (struct arrival){ frame != NULL ? frame->process : hole->process, frame != NULL ? frame->number : hole->number,
                                 (uint32_t)(source->arrived.count - 1) };
    return 0;
}

/* Turns a frame that cannot be used into a hole. */
static int add_hole(struct source *source, const struct frame *frame, uint32_t file, bool is_elsewhere)
{
    struct reader_hole *hole = list_add(&source->reader->holes, sizeof *hole);
    if (hole == NULL)
        return -ENOMEM;
    *hole = (struct reader_hole){ .begin = frame->begin,
                                  .end = frame->end,
                                  .process = frame->process,
                                  .number = frame->number,
                                  .file = file,
                                  .has_process = frame->process != 0,
                                  .is_elsewhere = is_elsewhere };
    return 0;
}

enum { HAS_SCHEMA = 1, HAS_SCHEMA_SO_FAR = 2 };

static void note_schema(struct source *source, uint32_t schema, unsigned char *schemas)
{
    int32_t *first = &source->reader->first_schemas[source->number];
    if (*first < 0)
        *first = (int32_t)schema;
    source->told->schemas += schemas[schema] == 0;
    schemas[schema] |= HAS_SCHEMA;
}

/* Notes which schemas the source's own files hold. */
static int note_schemas(struct source *source, unsigned char *schemas)
{
    struct reader *reader = source->reader;
    for (uint32_t file = source->first_file; file < source->end_file; file++) {
        struct frame *frames = reader->files[file].frames.items;
        for (size_t i = 0; i < reader->files[file].frames.count; i++) {
            if (frames[i].state == FRAME_SCHEMA) {
                note_schema(source, frames[i].schema, schemas);
                reader->files[file].told->sound_frames++;
            } else if (frames[i].process == 0 && add_hole(source, &frames[i], file, false) < 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

/* The frames and torn frames of a file, in its order. Pass 0: without those that came before their schema; pass 1: those. Beside the schemas of the
 * source's own files ours alone will do: a library that took an older one's place while the job ran found a file that had a schema, and added none. */
static int gather_file(struct source *source, uint32_t number, unsigned char *schemas, int pass)
{
    struct file *file = &source->reader->files[number];
    struct frame *frames = file->frames.items;
    struct reader_hole *holes = file->holes.items;
    size_t next_hole = 0;
    for (size_t i = 0; i <= file->frames.count; i++) {
        uint64_t at = i < file->frames.count ? frames[i].begin : UINT64_MAX;
        for (; pass == 0 && next_hole < file->holes.count && holes[next_hole].begin < at; next_hole++)
            if (holes[next_hole].has_process && add_arrival(source, NULL, &holes[next_hole], number) < 0)
                return -ENOMEM;
        if (i == file->frames.count)
            break;
        struct frame *frame = &frames[i];
        if (frame->state == FRAME_SCHEMA && pass == 0)
            schemas[frame->schema] |= HAS_SCHEMA_SO_FAR;
        if (frame->process == 0)
            continue;
        int schema = schema_find(source->reader, frame->schema_id);
        if (schema >= 0 && frame->schema_id == SCHEMA_ID)
            note_schema(source, (uint32_t)schema, schemas);
        if (schema < 0 || schemas[schema] == 0)
            frame->state = FRAME_BAD_PAYLOAD;
        if (pass == 0)
            frame->is_late = schema < 0 || !(schemas[schema] & HAS_SCHEMA_SO_FAR);
        if (frame->is_late == (pass == 1) && add_arrival(source, frame, NULL, number) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* The frames of one process that count, in the order of their numbers, and what is known of it. */
struct process {
    uint64_t number;
    struct list damaged; /* uint32_t: numbers that were seen and could not be read, rising */
    size_t first_taken, taken;
    uint32_t first_place, file;
    bool has_last;
    uint32_t last;
};

/* All arrivals of one number of a process. */
static int settle_number(struct source *source, struct process *process, const struct arrival *arrivals, size_t count)
{
    struct reader *reader = source->reader;
    struct arrived *arrived = source->arrived.items;
    bool is_taken = false, was_damaged = false, is_somewhere = false;
    for (size_t i = 0; i < count && !is_somewhere; i++)
        is_somewhere = arrived[arrivals[i].place].frame != NULL && arrived[arrivals[i].place].frame->state == FRAME_DECODED;
    for (size_t i = 0; i < count; i++) {
        struct frame *frame = arrived[arrivals[i].place].frame;
        uint32_t file = arrived[arrivals[i].place].file;
        if (frame == NULL) {
            was_damaged = true;
            arrived[arrivals[i].place].hole->is_elsewhere = is_somewhere;
            continue;
        }
        if (!is_taken && frame->state != FRAME_DECODED) {
            was_damaged = true;
            if (add_hole(source, frame, file, is_somewhere) < 0)
                return -ENOMEM;
            continue;
        }
        reader->files[file].told->sound_frames++;
        if (frame->flags & FORMAT_LAST_FRAME) {
            process->has_last = true;
            process->last = frame->number > process->last ? frame->number : process->last;
        }
        if (!is_taken) {
            struct taken *taken = list_add(&reader->taken, sizeof *taken);
            if (taken == NULL)
                return -ENOMEM;
            *taken = (struct taken){ frame, source->number };
            process->taken++;
            is_taken = true;
        }
    }
    if (was_damaged && !is_taken) {
        uint32_t *damaged = list_add(&process->damaged, sizeof *damaged);
        if (damaged == NULL)
            return -ENOMEM;
        *damaged = arrivals[0].number;
    }
    return 0;
}

static int note_gaps(struct source *source, struct process *process)
{
    struct reader *reader = source->reader;
    /* Of a process all of whose frames are damaged nothing was taken, and there may be no list at all. */
    const struct taken *taken = process->taken > 0 ? (struct taken *)reader->taken.items + process->first_taken : NULL;
    uint64_t frames = 0, slices = 0, expected = 0, greatest = 0;
    bool has_before = false;
    uint64_t *least_from = malloc((process->taken + 1) * sizeof *least_from);
    if (least_from == NULL)
        return -ENOMEM;
    least_from[process->taken] = UINT64_MAX;
    for (size_t i = process->taken; i-- > 0;)
        least_from[i] = taken[i].frame->has_span && taken[i].frame->least < least_from[i + 1] ? taken[i].frame->least : least_from[i + 1];
    for (size_t i = 0; i < process->taken; i++) {
        if (taken[i].frame->number > expected) {
            frames += taken[i].frame->number - expected;
            if (has_before && least_from[i] != UINT64_MAX && least_from[i] > greatest)
                slices += least_from[i] - greatest - 1;
        }
        expected = (uint64_t)taken[i].frame->number + 1;
        if (taken[i].frame->has_span && taken[i].frame->greatest > greatest)
            greatest = taken[i].frame->greatest;
        has_before = has_before || taken[i].frame->has_span;
    }
    free(least_from);
    if (process->has_last && process->last >= expected) {
        frames += process->last - expected + 1;
        expected = (uint64_t)process->last + 1;
    }
    const uint32_t *damaged = process->damaged.items;
    for (size_t i = 0; i < process->damaged.count; i++)
        frames += damaged[i] >= expected;
    if (frames == 0)
        return 0;
    struct reader_loss *loss = list_add(&reader->losses, sizeof *loss);
    if (loss == NULL)
        return -ENOMEM;
    *loss = (struct reader_loss){ .process = process->number,
                                  .frames = frames,
                                  .slices = slices,
                                  .arrival = process->first_place,
                                  .source = source->number,
                                  .file = process->file };
    return 0;
}

static int settle_process(struct source *source, const struct arrival *arrivals, size_t count)
{
    struct reader *reader = source->reader;
    struct process process = { .number = arrivals[0].process, .first_taken = reader->taken.count, .first_place = UINT32_MAX };
    int result = 0;
    for (size_t i = 0; i < count; i++)
        process.first_place = arrivals[i].place < process.first_place ? arrivals[i].place : process.first_place;
    process.file = ((struct arrived *)source->arrived.items)[process.first_place].file;
    for (size_t i = 0, end; i < count && result == 0; i = end) {
        for (end = i + 1; end < count && arrivals[end].number == arrivals[i].number;)
            end++;
        result = settle_number(source, &process, arrivals + i, end - i);
    }
    source->told->processes++;
    source->told->frames += process.taken;
    if (result == 0)
        result = note_gaps(source, &process);
    if (result == 0 && !process.has_last) {
        struct reader_unfinished *unfinished = list_add(&reader->unfinished, sizeof *unfinished);
        if (unfinished == NULL)
            result = -ENOMEM;
        else
            *unfinished = (struct reader_unfinished){ .process = process.number, .arrival = process.first_place, .source = source->number };
    }
    free(process.damaged.items);
    return result;
}

static int settle_source(struct source *source)
{
    unsigned char schemas[SCHEMAS_MAX] = { 0 };
    int result = note_schemas(source, schemas);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t file = source->first_file; file < source->end_file && result == 0; file++)
            result = gather_file(source, file, schemas, pass);
    if (result == 0 && !is_sorted(&source->arrivals))
        qsort(source->arrivals.items, source->arrivals.count, sizeof(struct arrival), by_process_and_number);
    const struct arrival *arrivals = source->arrivals.items;
    for (size_t i = 0, end; i < source->arrivals.count && result == 0; i = end) {
        for (end = i + 1; end < source->arrivals.count && arrivals[end].process == arrivals[i].process;)
            end++;
        result = settle_process(source, arrivals + i, end - i);
    }
    free(source->arrived.items);
    free(source->arrivals.items);
    return result;
}

/* The holes of all files' walks; the place of none changes afterwards. */
static int take_holes(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->file_count; i++) {
        const struct reader_hole *holes = reader->files[i].holes.items;
        for (size_t k = 0; k < reader->files[i].holes.count; k++) {
            struct reader_hole *hole = list_add(&reader->holes, sizeof *hole);
            if (hole == NULL)
                return -ENOMEM;
            *hole = holes[k];
        }
    }
    return 0;
}

/* Chunks by their tables' numbers, so that making a table does not look at all others. */
static int sort_chunks(struct reader *reader)
{
    const struct taken *taken = reader->taken.items;
    size_t *from = reader->chunks_from;
    for (size_t i = 0; i < reader->taken.count; i++)
        for (const struct chunk *chunk = taken[i].frame->chunks; chunk != NULL; chunk = chunk->next)
            from[chunk->table + 1]++;
    for (unsigned table = 0; table < TABLES_MAX; table++)
        from[table + 1] += from[table];
    reader->chunks = malloc((from[TABLES_MAX] + 1) * sizeof *reader->chunks);
    if (reader->chunks == NULL)
        return -ENOMEM;
    size_t next[TABLES_MAX];
    memcpy(next, from, sizeof next);
    for (size_t i = 0; i < reader->taken.count; i++)
        for (const struct chunk *chunk = taken[i].frame->chunks; chunk != NULL; chunk = chunk->next)
            reader->chunks[next[chunk->table]++] = (struct chunk_place){ chunk, (uint32_t)i };
    return 0;
}

int book_make(struct reader *reader)
{
    int result = 0;
    reader->sources = calloc((size_t)reader->source_count + 1, sizeof *reader->sources);
    reader->first_schemas = malloc(((size_t)reader->source_count + 1) * sizeof *reader->first_schemas);
    if (reader->sources == NULL || reader->first_schemas == NULL)
        return -ENOMEM;
    uint32_t file = 0;
    for (uint32_t i = 0; i < reader->source_count && result == 0; i++) {
        struct source source = { .reader = reader, .number = i, .first_file = file, .told = &reader->sources[i] };
        reader->first_schemas[i] = -1;
        for (; file < reader->file_count && reader->files[file].told->source == i; file++) {
            struct file *known = &reader->files[file];
            known->told->is_foreign = known->frames.count == 0 && known->holes.count <= 1 && known->told->marker == 0;
        }
        source.end_file = file;
        result = settle_source(&source);
    }
    if (result == 0)
        result = take_holes(reader);
    return result == 0 ? sort_chunks(reader) : result;
}

const struct reader_hole *slicewise_reader_holes(const struct reader *reader, uint64_t *count)
{
    *count = reader->holes.count;
    return reader->holes.items;
}

const struct reader_loss *slicewise_reader_losses(const struct reader *reader, uint64_t *count)
{
    *count = reader->losses.count;
    return reader->losses.items;
}

const struct reader_unfinished *slicewise_reader_unfinished(const struct reader *reader, uint64_t *count)
{
    *count = reader->unfinished.count;
    return reader->unfinished.items;
}

const struct reader_source *slicewise_reader_sources(const struct reader *reader)
{
    return reader->sources;
}

int32_t slicewise_reader_first_schema(const struct reader *reader, uint32_t source)
{
    return source < reader->source_count ? reader->first_schemas[source] : -1;
}
