#include "region.h"

#include "record.h"

#include <string.h>

/* 0: it is not known. */
static unsigned known_place(const struct segment *segment, const char *name)
{
    const struct regions *regions = &segment->regions;
    for (unsigned place = 1; place < regions->names_used; place++)
        if (strcmp(segment_text(segment, regions->names[place].sums[0].row[regions_name]), name) == 0)
            return place;
    return 0;
}

/* 0: there is no room for it. */
static unsigned name_place(struct segment_home *home, const char *name)
{
    struct regions *regions = &home->segment->regions;
    unsigned place = known_place(home->segment, name), used = regions->names_used;
    if (place != 0 || used >= REGION_NAMES_MAX || segment_reserve(home, &regions->names[used], sizeof regions->names[used]) < 0)
        return place;
    uint64_t text = segment_add_text(home, name);
    if (text == 0)
        return 0;
    for (unsigned state = 0; state < 2; state++)
        regions->names[used].sums[state].row[regions_name] = text;
    regions->names_used = used + 1;
    return used;
}

bool region_is_doubtful(const struct segment *segment, const struct region *region)
{
    return region->level != 0 && known_place(segment, region->name) == 0;
}

/* The row of one that ends. */
static void describe(struct segment *segment, const struct region *region, uint64_t end_ns, bool is_left, uint64_t *row)
{
    uint64_t sums[REGION_SUMS], ns = end_ns > region->begin_ns ? end_ns - region->begin_ns : 0;
    lane_sums(segment, region->lane, sums);
    memset(row, 0, REGION_COLUMNS * sizeof *row);
    row[regions_number] = REGION_NAMES_MAX + (uint32_t)region->token;
    row[regions_occurrences] = 1;
    row[regions_thread] = region->thread;
    row[regions_begin_ns] = region->begin_ns;
    row[regions_end_ns] = region->begin_ns + ns;
    row[regions_ns] = row[regions_slowest_ns] = ns;
    for (unsigned sum = 0; sum < REGION_SUMS; sum++)
        row[regions_read_bytes + sum] = sums[sum] - region->begun[sum];
    row[regions_left] = is_left;
}

/* Adds it to the name's one row of many, in the state that does not count yet. Killed within, the process has either all of it or nothing. */
static void add_up(struct region_name *name, unsigned place, const uint64_t *one, uint64_t token)
{
    unsigned now = name->counts & 1, next = now ^ 1;
    uint64_t *row = name->sums[next].row;
    memcpy(row, name->sums[now].row, sizeof name->sums[now].row);
    row[regions_number] = place;
    row[regions_begin_ns] =
        row[regions_occurrences] == 0 || one[regions_begin_ns] < row[regions_begin_ns] ? one[regions_begin_ns] : row[regions_begin_ns];
    row[regions_end_ns] = one[regions_end_ns] > row[regions_end_ns] ? one[regions_end_ns] : row[regions_end_ns];
    row[regions_slowest_ns] = one[regions_ns] > row[regions_slowest_ns] ? one[regions_ns] : row[regions_slowest_ns];
    row[regions_thread] = one[regions_thread];
    row[regions_occurrences]++;
    row[regions_ns] += one[regions_ns];
    for (unsigned sum = 0; sum < REGION_SUMS; sum++)
        row[regions_read_bytes + sum] += one[regions_read_bytes + sum];
    row[regions_left] += one[regions_left];
    name->sums[next].token = token;
    atomic_store_explicit(&name->counts, next, memory_order_release);
}

/* Whether the process was killed after it had counted the region, and before its place was free. */
static bool is_counted(const struct regions *regions, const struct region *region)
{
    for (uint32_t i = 0; i < regions->ledger.used; i++)
        if (ledger_is_unpacked(&regions->ledger, i) && regions->rows[i][regions_number] == REGION_NAMES_MAX + (uint32_t)region->token)
            return true;
    for (unsigned place = 0; place < regions->names_used; place++)
        if (regions->names[place].sums[regions->names[place].counts & 1].token == region->token)
            return true;
    return false;
}

void region_end(struct segment_home *home, struct region *region, uint64_t end_ns, bool is_left)
{
    struct segment *segment = home->segment;
    struct regions *regions = &segment->regions;
    uint64_t row[REGION_COLUMNS];
    if (!is_left || !region_is_doubtful(segment, region)) {
        unsigned place = name_place(home, region->name);
        struct region_name *name = &regions->names[place];
        describe(segment, region, end_ns, is_left, row);
        uint32_t free_row = place == 0 || name->seen >= REGION_OCCURRENCES_MAX
                                ? REGION_ROWS_MAX
                                : ledger_place(home, &regions->ledger, regions->rows[0], REGION_COLUMNS, REGION_ROWS_MAX);
        if (free_row < REGION_ROWS_MAX) {
            row[regions_name] = name->sums[0].row[regions_name];
            row[regions_occurrence] = name->seen + 1;
            memcpy(regions->rows[free_row], row, sizeof row);
            atomic_thread_fence(memory_order_release);
            ledger_touch(&regions->ledger, free_row);
        } else {
            add_up(name, place, row, region->token);
        }
        name->seen++;
    }
    atomic_thread_fence(memory_order_release);
    region->token = 0;
    region->outer = regions->free;
    regions->free = 1 + (uint32_t)(region - regions->open);
}

void region_end_all(struct segment_home *home, uint64_t end_ns)
{
    struct regions *regions = &home->segment->regions;
    for (uint32_t i = home->segment->has_regions != 0 ? regions->used : 0; i-- > 0;)
        if (regions->open[i].token != 0 && regions->open[i].lane < home->segment->lanes_used && !is_counted(regions, &regions->open[i]))
            region_end(home, &regions->open[i], end_ns, true);
}
