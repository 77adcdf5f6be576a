#include "files.h"

#include "mix.h"
#include "raw.h"
#include "sections.h"

#include <string.h>

enum { BY_BYTES, BY_TIME };
_Static_assert(FILE_MEASURES == BY_TIME + 1, "two measures");

static uint64_t weight(const uint64_t *sums, unsigned by)
{
    return by == BY_BYTES ? sums[FILE_SUM(files_read_bytes)] + sums[FILE_SUM(files_write_bytes)]
                          : sums[FILE_SUM(files_read_ns)] + sums[FILE_SUM(files_write_ns)];
}

static uint64_t row_weight(const struct file *file, unsigned by)
{
    return weight(file->row + files_opens, by) + file->row[by == BY_BYTES ? files_error_bytes : files_error_ns];
}

static struct file_cell *cell_of(struct segment *segment, uint64_t id)
{
    return (struct file_cell *)files_cell(segment, id);
}

/* Whether there were more files than rows. Before the first row there may be no memory behind the table: a look would kill the program. */
static bool is_filtering(const struct segment *segment)
{
    return segment->files_used != 0 && atomic_load(&segment->files.is_filtering) != 0;
}

/* How long to wait for somebody who gives up rows: long enough, but for a vforked child that was killed there. */
#define YIELDS_MOST 1000

/* The file's row, or 0. `version`: of the table that was looked at. */
static uint32_t find(const struct segment *segment, uint64_t id, uint32_t *version)
{
    const struct files *files = &segment->files;
    uint32_t found, yields = 0;
    if (segment->files_used == 0) {
        *version = 0;
        return 0;
    }
    *version = atomic_load(&files->version);
    if (is_filtering(segment) && atomic_load(&files_cell(segment, id)->rows) == 0)
        return 0;
    do {
        while (((*version = atomic_load(&files->version)) & 1) != 0 && yields++ < YIELDS_MOST)
            syscall(SYS_sched_yield);
        uint32_t steps = 0;
        for (found = atomic_load(&files->heads[id % FILE_HEADS]); found != 0 && steps < FILES_MAX; steps++) {
            if (found >= FILES_MAX)
                return 0;
            if (atomic_load(&files->file[found].id) == id)
                return found;
            found = atomic_load(&files->file[found].next);
        }
        found = 0;
    } while (atomic_load(&files->version) != *version && yields++ < YIELDS_MOST);
    return found;
}

/* Names the file's row in the stream, so that nobody gives the row up meanwhile. */
static uint32_t refer(struct segment *segment, struct stream *stream, uint32_t *version)
{
    uint32_t found;
    while ((found = find(segment, stream->id, version)) != 0) {
        __atomic_store_n(&stream->file, found, __ATOMIC_SEQ_CST);
        if (atomic_load(&segment->files.file[found].id) == stream->id)
            return found;
    }
    stream->file = 0;
    return 0;
}

bool files_refer(struct segment *segment, struct stream *stream)
{
    uint32_t version;
    return refer(segment, stream, &version) != 0;
}

bool files_is_worth(const struct segment *segment, const struct stream *stream, uint64_t more_bytes, uint64_t more_ns)
{
    if (!is_filtering(segment))
        return true;
    const struct file_cell *cell = files_cell(segment, stream->id);
    const uint64_t more[] = { more_bytes, more_ns };
    for (unsigned by = 0; by < FILE_MEASURES; by++)
        if (atomic_load(&cell->passed[by]) + weight(stream->counter, by) + more[by] > atomic_load(&segment->files.enough[by]))
            return true;
    return false;
}

/* The `rank`-th largest of the numbers, which are put in another order. */
static uint64_t select_largest(uint64_t *numbers, uint32_t count, uint32_t rank)
{
    uint32_t begin = 0, end = count;
    while (end - begin > 1) {
        uint64_t pivot = numbers[begin + (end - begin) / 2];
        uint32_t larger = begin, equal = begin;
        for (uint32_t i = begin; i < end; i++)
            if (numbers[i] > pivot) {
                uint64_t number = numbers[i];
                numbers[i] = numbers[equal];
                numbers[equal++] = numbers[larger];
                numbers[larger++] = number;
            } else if (numbers[i] == pivot) {
                uint64_t number = numbers[i];
                numbers[i] = numbers[equal];
                numbers[equal++] = number;
            }
        if (rank < larger)
            end = larger;
        else if (rank < equal)
            return pivot;
        else
            begin = equal;
    }
    return numbers[begin];
}

static void unlink_row(struct files *files, uint32_t row, uint64_t id)
{
    _Atomic uint16_t *link = &files->heads[id % FILE_HEADS];
    while (*link != 0 && *link != row)
        link = &files->file[*link].next;
    if (*link == row)
        atomic_store(link, files->file[row].next);
}

/* Of a row that nobody finds any more, nor names in a stream. */
static void give_up(struct segment *segment, uint32_t row, uint64_t id)
{
    struct files *files = &segment->files;
    struct file *file = &files->file[row];
    for (unsigned by = 0; by < FILE_MEASURES; by++) {
        _Atomic uint64_t *passed = &cell_of(segment, id)->passed[by];
        uint64_t held = atomic_load(passed), had = row_weight(file, by);
        while (held < had && !atomic_compare_exchange_weak(passed, &held, had))
            ;
    }
    unlink_row(files, row, id);
    atomic_fetch_sub(&cell_of(segment, id)->rows, 1);
    uint64_t *others = files->file[0].row + files_opens, *sums = file->row + files_opens;
    memcpy(files->before, others, sizeof files->before);
    atomic_store(&files->giving_up, row);
    for (unsigned i = 0; i < FILE_SUMS; i++)
        others[i] += sums[i];
    file->next_free = files->first_free;
    __atomic_store_n(&files->first_free, row, __ATOMIC_SEQ_CST); /* from now on row 0 has its sums */
    atomic_store(&files->giving_up, 0);
    memset(sums, 0, (FILE_COLUMNS - files_opens) * sizeof *sums); /* a row that is taken to be filled is nobody's until then */
}

/* If a process died while it gave up a row, this takes back what it had added to row 0. */
static void finish_interrupted_giving_up(struct files *files)
{
    uint32_t row = atomic_load(&files->giving_up);
    if (row != 0 && files->first_free != row)
        memcpy(files->file[0].row + files_opens, files->before, sizeof files->before);
    atomic_store(&files->giving_up, 0);
}

/* Notes which rows are free. Every other row counts, even one without an id: a process takes a row's id away first when it gives the row up, and
 * may have died right then. */
static void find_free_rows(const struct files *files, unsigned char is_free[FILES_MAX])
{
    memset(is_free, 0, FILES_MAX);
    for (uint32_t row = files->first_free; row != 0 && row < FILES_MAX && !is_free[row]; row = files->file[row].next_free)
        is_free[row] = 1;
}

/* What all files had, at least. What is in the cells is in no row's own sums, and nothing is in the cells twice. */
static uint64_t weight_of_all(const struct segment *segment, unsigned by)
{
    const struct files *files = &segment->files;
    uint64_t all = 0;
    for (uint32_t cell = 0; cell < FILE_CELLS; cell++)
        all += atomic_load_explicit(&files->cells[cell].passed[by], memory_order_relaxed);
    for (uint32_t row = 1; row < segment->files_used; row++)
        if (files->file[row].id != 0)
            all += weight(files->file[row].row + files_opens, by);
    return all;
}

/* A file that has no larger part of all than this needs no row, however little the rows themselves have: where files come and go that all have
 * the same, few of them get rows that are given up again. What is enough grows with what all files have, each time that so many
 * rows were entered. */
#define PART_ENOUGH ((uint64_t)2 * FILES_KEPT)
#define ROWS_A_RAISE 64

static void raise_enough(struct segment *segment, unsigned by, uint64_t least)
{
    struct files *files = &segment->files;
    uint64_t part = weight_of_all(segment, by) / PART_ENOUGH;
    if (least < part)
        least = part;
    if (least > files->enough[by])
        atomic_store(&files->enough[by], least);
}

/* Gives up the rows that are among the first FILES_KEPT neither by bytes nor by time. */
static void sweep(struct segment *segment)
{
    static uint64_t numbers[FILES_MAX]; /* guarded by the lock; the stack may be a signal handler's small one */
    static unsigned char is_kept[FILES_MAX];
    struct files *files = &segment->files;
    memset(is_kept, 0, sizeof is_kept);
    finish_interrupted_giving_up(files);
    atomic_fetch_add(&files->version, 1);
    for (unsigned by = 0; by < FILE_MEASURES; by++) {
        uint32_t count = 0, above = 0;
        for (uint32_t i = 1; i < segment->files_used; i++)
            if (files->file[i].id != 0)
                numbers[count++] = row_weight(&files->file[i], by);
        if (count < FILES_KEPT)
            break;
        uint64_t least = select_largest(numbers, count, FILES_KEPT - 1);
        for (uint32_t i = 0; i < count; i++)
            above += numbers[i] > least;
        for (uint32_t i = 1; i < segment->files_used; i++) {
            if (files->file[i].id == 0)
                continue;
            uint64_t has = row_weight(&files->file[i], by);
            if (has > least || (has == least && above < FILES_KEPT)) {
                above += has == least;
                is_kept[i] = 1;
            }
        }
        raise_enough(segment, by, least);
    }
    /* First nobody finds them; who found one before has its number in a stream by now, or looks once more. */
    uint64_t *ids = numbers;
    for (uint32_t i = 1; i < segment->files_used; i++) {
        ids[i] = is_kept[i] ? 0 : files->file[i].id;
        if (ids[i] != 0)
            atomic_store(&files->file[i].id, 0);
    }
    for (uint32_t i = 0; i < segment->lanes_used && i < LANES_MAX; i++)
        for (unsigned s = 0; s < STREAMS; s++) {
            uint32_t named = __atomic_load_n(&segment_lane(segment, i)->streams[s].file, __ATOMIC_SEQ_CST);
            if (named < FILES_MAX)
                is_kept[named] = 1;
        }
    for (uint32_t i = 1; i < segment->files_used; i++) {
        if (ids[i] != 0 && is_kept[i])
            atomic_store(&files->file[i].id, ids[i]);
        else if (ids[i] != 0)
            give_up(segment, i, ids[i]);
    }
    atomic_fetch_add(&files->version, 1);
}

static char *name_of(struct files *files, uint32_t row)
{
    return files->names[FILES_MAX - row];
}

/* All that is looked at before a row, and the first rows. */
static int reserve_head(struct segment_home *home, uint32_t rows)
{
    struct files *files = &home->segment->files;
    return segment_reserve(home, &files->version, offsetof(struct files, file) - offsetof(struct files, version) + rows * sizeof files->file[0]);
}

static void begin_filtering(struct segment *segment)
{
    for (uint32_t row = 1; row < FILES_MAX; row++)
        atomic_fetch_add(&cell_of(segment, segment->files.file[row].id)->rows, 1);
    atomic_store(&segment->files.is_filtering, 1);
}

/* A free row, or 0. */
static uint32_t new_row(struct segment_home *home)
{
    struct segment *segment = home->segment;
    struct files *files = &segment->files;
    if (segment->files_used == 0) {
        if (reserve_head(home, 2) < 0)
            return 0;
        segment->files_used = 1;
    }
    uint32_t row = segment->files_used;
    if (row < FILES_MAX) {
        if (segment_reserve(home, &files->file[row], sizeof files->file[row]) < 0 || segment_reserve(home, name_of(files, row), FILE_NAME_BYTES) < 0)
            return 0;
        segment->files_used = row + 1;
        return row;
    }
    if (atomic_load(&files->is_filtering) == 0) {
        if (segment_reserve(home, files->cells, sizeof *files - offsetof(struct files, cells)) < 0)
            return 0;
        begin_filtering(segment);
    }
    if (++files->entered % ROWS_A_RAISE == 0)
        for (unsigned by = 0; by < FILE_MEASURES; by++)
            raise_enough(segment, by, 0);
    if (files->first_free == 0)
        sweep(segment);
    row = files->first_free;
    if (row != 0)
        files->first_free = files->file[row].next_free;
    return row;
}

CALL_DATA bool files_any_past_cache;

/* The column in a row of a segment: what the descriptor's flags said, and above it the bytes whose calls asked to be in storage at their return. */
enum { BY_FLAGS = 3, SYNCED_BYTE = BY_FLAGS + 1 };

/* Whether what is written is in storage when the call returns, and with it what a file system notes of it (2). */
static unsigned past_cache_of(int fd)
{
    long flags = files_any_past_cache ? syscall(SYS_fcntl, fd, F_GETFL) : 0;
    return flags < 0 ? 0 : (flags & O_DSYNC) != 0 ? 2 : (flags & O_DIRECT) != 0;
}

void files_go_past_cache(struct segment *segment, const struct stream *stream, uint64_t synced)
{
    if (stream->file == 0 || stream->file >= FILES_MAX)
        return;
    uint64_t *row = segment->files.file[stream->file].row;
    if (synced != 0)
        __atomic_fetch_add(&row[files_past_cache], synced * SYNCED_BYTE, __ATOMIC_RELAXED);
    else if (row[files_write_bytes] + stream->counter[FILE_SUM(files_write_bytes)] == 0)
        __atomic_fetch_or(&row[files_past_cache], past_cache_of(stream->fd), __ATOMIC_RELAXED);
}

/* The column as it goes into the profile. A file is as its bytes are, but for a twentieth: one with few commits among many cached writes is cached. */
static uint64_t past_cache_in_profile(const uint64_t *row)
{
    uint64_t synced = row[files_past_cache] / SYNCED_BYTE, written = row[files_write_bytes];
    return synced != 0 && synced >= written - written / 20 ? 2 : row[files_past_cache] & BY_FLAGS;
}

void files_enter(struct segment_home *home, struct stream *stream, uint32_t mount, const char *path)
{
    struct segment *segment = home->segment;
    struct files *files = &segment->files;
    if (files_refer(segment, stream))
        return;
    uint32_t row = new_row(home);
    if (row == 0)
        return;
    struct file *file = &files->file[row];
    size_t length = strlen(path);
    /* A long path's end says more than its beginning. */
    size_t left_out = length < FILE_NAME_BYTES ? 0 : length - (FILE_NAME_BYTES - 1);
    memcpy(name_of(files, row), path + left_out, length - left_out + 1);
    file->path_hash = length != 0 ? mix(mix_text(1, path), mount) | 1 : 0;
    memset(file->row, 0, sizeof file->row);
    file->row[files_file] = row;
    file->row[files_mount] = mount;
    file->row[files_path] = FILE_NAME_TEXT(row);
    file->row[files_past_cache] = past_cache_of(stream->fd);
    struct file_cell *cell = is_filtering(segment) ? cell_of(segment, stream->id) : NULL;
    if (cell != NULL)
        atomic_fetch_add(&cell->rows, 1);
    atomic_store(&file->next, files->heads[stream->id % FILE_HEADS]);
    atomic_store(&file->id, stream->id);
    atomic_store(&files->heads[stream->id % FILE_HEADS], (uint16_t)row);
    atomic_fetch_add(&files->version, 2);
    /* After the row can be found: whoever adds to the cell looks for the row afterwards. */
    for (unsigned by = 0; by < FILE_MEASURES && cell != NULL; by++)
        file->row[by == BY_BYTES ? files_error_bytes : files_error_ns] = atomic_load(&cell->passed[by]);
    stream->file = row;
}

/* To sums that other threads add to as well. */
static void add_shared(uint64_t *to, uint64_t *from)
{
    for (unsigned i = 0; i < FILE_SUMS; i++) {
        if (from[i] != 0)
            __atomic_fetch_add(&to[i], from[i], __ATOMIC_RELAXED);
        from[i] = 0;
    }
}

/* To those of the caller's lane. */
static void add_own(uint64_t *to, uint64_t *from)
{
    for (unsigned i = 0; i < FILE_SUMS; i++) {
        to[i] += from[i];
        from[i] = 0;
    }
}

void files_add(struct segment_home *home, struct lane *lane, struct stream *stream)
{
    struct segment *segment = home->segment;
    bool is_any = false;
    stream_catch_up(stream);
    for (unsigned i = 0; i < FILE_SUMS; i++)
        is_any |= stream->counter[i] != 0;
    if (stream->file == FILE_NONE || !is_any)
        return;
    uint32_t version, row = stream->file != 0 && stream->file < FILES_MAX ? stream->file : refer(segment, stream, &version);
    if (row == 0 && is_filtering(segment)) {
        for (unsigned by = 0; by < FILE_MEASURES; by++) {
            uint64_t moved = weight(stream->counter, by);
            if (moved != 0)
                atomic_fetch_add(&cell_of(segment, stream->id)->passed[by], moved);
        }
        /* Who enters the file from now on has seen what the cell holds. */
        if (atomic_load(&segment->files.version) != version)
            row = refer(segment, stream, &version);
    }
    if (row != 0)
        add_shared(segment->files.file[row].row + files_opens, stream->counter);
    else
        add_own(lane->other_files, stream->counter);
}

/* Taken, and nobody's yet. */
static bool is_empty(const struct file *file)
{
    uint64_t any = file->id;
    for (unsigned column = files_opens; column < files_past_cache; column++)
        any |= file->row[column];
    return any == 0;
}

unsigned files_rows(const struct segment *segment, struct file_rows *made)
{
    uint32_t used = segment->files_used < FILES_MAX ? segment->files_used : FILES_MAX;
    /* By the path's hash, or the next place. As many as are needed, behind as many rows as there can be: each page that is touched costs. */
    uint32_t places = used * FILE_PLACES_A_ROW;
    struct file_place *at = (struct file_place *)(void *)((char *)made + used * sizeof made->row[0]);
    unsigned count = 0;
    memset(at, 0, places * sizeof *at);
    bool has_free = used != 0 && segment->files.first_free != 0; /* else that part of the room is not touched either */
    if (has_free)
        find_free_rows(&segment->files, made->is_free);
    for (uint32_t i = 0; i < used; i++) {
        const struct file *file = &segment->files.file[i];
        if (i != 0 && ((has_free && made->is_free[i]) || is_empty(file)))
            continue;
        uint64_t hash = i != 0 ? file->path_hash : 0, place = hash % places;
        while (hash != 0 && at[place].file != 0 && segment->files.file[at[place].file].path_hash != hash)
            place = (place + 1) % places;
        if (hash != 0 && at[place].file != 0) {
            uint64_t *same = made->row[at[place].row], past = past_cache_in_profile(file->row);
            for (unsigned column = files_opens; column < files_past_cache; column++)
                same[column] += file->row[column];
            same[files_past_cache] = same[files_past_cache] > past ? same[files_past_cache] : past;
            continue;
        }
        if (hash != 0) {
            at[place].file = (uint16_t)i;
            at[place].row = (uint16_t)count;
        }
        memcpy(made->row[count], file->row, sizeof made->row[0]);
        made->row[count++][files_past_cache] = past_cache_in_profile(file->row);
    }
    return count;
}

void files_close(struct segment_home *home)
{
    struct segment *segment = home->segment;
    struct files *files = &segment->files;
    uint32_t lanes = segment->lanes_used < LANES_MAX ? segment->lanes_used : LANES_MAX;
    if (is_filtering(segment))
        finish_interrupted_giving_up(files);
    for (uint32_t i = 0; i < lanes; i++) {
        struct lane *lane = segment_lane(segment, i);
        uint64_t any = 0;
        for (unsigned sum = 0; sum < FILE_SUMS; sum++)
            any |= lane->other_files[sum];
        if (any == 0)
            continue;
        if (segment->files_used == 0 && reserve_head(home, 1) < 0)
            return;
        segment->files_used = segment->files_used == 0 ? 1 : segment->files_used;
        add_shared(files->file[0].row + files_opens, lane->other_files);
    }
    if (segment->files_used == 0)
        return;
    uint64_t *other = files->file[0].row, *errors = &other[files_error_bytes];
    for (unsigned by = 0; by < FILE_MEASURES; by++) {
        errors[by] = 0;
        for (uint32_t cell = 0; cell < FILE_CELLS && files->is_filtering != 0; cell++)
            errors[by] = errors[by] > files->cells[cell].passed[by] ? errors[by] : files->cells[cell].passed[by];
        uint64_t all = weight(other + files_opens, by);
        if (files->is_filtering == 0 || errors[by] > all)
            errors[by] = all;
    }
    segment->problems[PROBLEM_files_full] = other[files_opens];
}
