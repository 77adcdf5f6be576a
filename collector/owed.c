#include "owed.h"

#include "clock.h"

struct looked looked_since(uint64_t before_ns)
{
    uint64_t now_ns = clock_read(CLOCK_REALTIME), took_ns = now_ns > before_ns ? now_ns - before_ns : 0; /* a clock may be set back */
    return (struct looked){ .at_ns = now_ns - took_ns / 2, .doubt_ns = took_ns / 2 };
}

/* What of a count that went on from `from_ns` to `to_ns` came until `until_ns`. */
static uint64_t part_until(uint64_t count, uint64_t from_ns, uint64_t to_ns, uint64_t until_ns)
{
    return until_ns >= to_ns ? count : (uint64_t)((unsigned __int128)count * (until_ns - from_ns) / (to_ns - from_ns));
}

struct owed *owed_in(struct owed *table, uint64_t slice)
{
    struct owed *latest = &table[0];
    for (unsigned i = 0; i < OWED_SLICES; i++)
        if (table[i].is_used && table[i].slice == slice)
            return &table[i];
    for (unsigned i = 0; i < OWED_SLICES; i++) {
        if (!table[i].is_used) {
            table[i] = (struct owed){ .is_used = true, .slice = slice };
            return &table[i];
        }
        latest = table[i].slice > latest->slice ? &table[i] : latest;
    }
    return latest;
}

/* How far the nearer of two looks is from an edge between two slices that lies between them. */
static uint64_t unsure_at(uint64_t edge_ns, const struct looked *from, const struct looked *to)
{
    uint64_t before = edge_ns - from->at_ns + from->doubt_ns, after = to->at_ns - edge_ns + to->doubt_ns;
    return before < after ? before : after;
}

void owe(struct owed *table, uint64_t slice_ns, const struct looked *from, const struct looked *to, const uint64_t counts[KERNEL_COUNTS])
{
    uint64_t to_ns = to->at_ns, from_ns = from->at_ns;
    uint64_t last = to_ns / slice_ns, first = from_ns < to_ns ? from_ns / slice_ns : last, given[KERNEL_COUNTS] = { 0 }, unsure_before = 0;
    if (last - first >= OWED_SLICES) {
        first = last - (OWED_SLICES - 1);
        from_ns = first * slice_ns;
    }
    for (uint64_t slice = first; slice <= last; slice++) {
        uint64_t unsure_after = slice < last ? unsure_at((slice + 1) * slice_ns, from, to) : 0;
        uint64_t more[KERNEL_COUNTS], any = 0;
        for (int i = 0; i < KERNEL_COUNTS; i++) {
            uint64_t until = slice == last ? counts[i] : part_until(counts[i], from_ns, to_ns, (slice + 1) * slice_ns);
            any |= more[i] = until - given[i];
            given[i] = until;
        }
        struct owed *owed = any != 0 ? owed_in(table, slice) : NULL;
        for (int i = 0; i < KERNEL_COUNTS && owed != NULL; i++)
            owed->counts[i] += more[i];
        if (owed != NULL)
            owed->unsure_ns += unsure_before + unsure_after;
        unsure_before = unsure_after;
    }
}
