#include "pending_slices.h"

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

struct pending_slice *pending_slices_find(struct pending_slice *table, uint64_t slice)
{
    struct pending_slice *latest = &table[0];
    for (unsigned i = 0; i < PENDING_SLICES; i++)
        if (table[i].is_used && table[i].slice == slice)
            return &table[i];
    for (unsigned i = 0; i < PENDING_SLICES; i++) {
        if (!table[i].is_used) {
            table[i] = (struct pending_slice){ .is_used = true, .slice = slice };
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

void pending_slices_add(struct pending_slice *table, uint64_t slice_ns, const struct looked *from, const struct looked *to,
                        const uint64_t counts[KERNEL_COUNTS])
{
    uint64_t to_ns = to->at_ns, from_ns = from->at_ns;
    uint64_t last = to_ns / slice_ns, first = from_ns < to_ns ? from_ns / slice_ns : last, given[KERNEL_COUNTS] = { 0 }, unsure_before = 0;
    if (last - first >= PENDING_SLICES) {
        first = last - (PENDING_SLICES - 1);
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
        struct pending_slice *pending = any != 0 ? pending_slices_find(table, slice) : NULL;
        for (int i = 0; i < KERNEL_COUNTS && pending != NULL; i++)
            pending->counts[i] += more[i];
        if (pending != NULL)
            pending->unsure_ns += unsure_before + unsure_after;
        unsure_before = unsure_after;
    }
}
