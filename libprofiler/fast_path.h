/* The fast path of a call that moved bytes or a position: a few tens of instructions, inline in the wrappers that need it. It is the usual way of
 * a thread with a lane, in its open slice, on a descriptor that it used before in this slice. It takes no lock, makes no atomic
 * read-modify-write and no call, and leaves errno alone. All other calls go to call.c. A signal handler that finds its thread in here counts
 * on a lane of its own. */
#ifndef SLICEWISE_FAST_PATH_H
#define SLICEWISE_FAST_PATH_H

#include "call.h"
#include "descriptor.h"
#include "guard.h"
#include "segment.h"

#include <stddef.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define INLINE static inline __attribute__((always_inline))

/* What a call did, as the caller knows it. */
struct effect {
    enum call_kind kind;
    uint64_t bytes;                     /* moved */
    uint64_t kernel_read, kernel_write; /* stdio: passed from and to the kernel underneath */
    uint64_t mapped;                    /* into memory */
    bool is_error;
    bool is_reading_of_copy;            /* whose writing is counted as the call */
    uint32_t reading;                   /* of a copy that does both all along: the share of its time that is reading, in SHARES; 0: no copy */
    bool is_served;                     /* by a stream's buffer: no I/O, and so no time and no latency */
};

/* What of a call falls into the open slice: all of it, unless the call began in an earlier one. */
struct share {
    uint64_t ns, bytes;
    uint64_t over_ns; /* while the call took that long, and a part of it is something else's; 0: ns */
};

/* Bins of transfer sizes: by the number of bits the lowest bin that it can be, put right by one comparison with that bin's upper end. */
struct size_bins {
    uint64_t upper_end[64];
    unsigned char bin[64];
};
extern const struct size_bins size_bins HIDDEN;

INLINE unsigned size_bin(uint64_t bytes)
{
    unsigned bit = 63 ^ (unsigned)__builtin_clzll(bytes | 1);
    return size_bins.bin[bit] + (bytes > size_bins.upper_end[bit]);
}

INLINE unsigned latency_bin(uint64_t ns)
{
    unsigned bits = 63 ^ (unsigned)__builtin_clzll(ns | 127); /* 127 ns has 6, 128 ns has 7 */
    return bits < 33 ? bits - 6 : 27;
}

INLINE void add_to_cell(struct cell *cell, const struct effect *effect, const struct share *share, uint64_t whole_ns)
{
    struct counts *counts = &cell->counts;
    enum call_kind kind = effect->kind;
    counts->counter[COUNTER_read_ops + kind]++;
    counts->counter[COUNTER_read_ns + kind] += share->ns;
    if (whole_ns > counts->counter[COUNTER_read_slowest_ns + kind])
        counts->counter[COUNTER_read_slowest_ns + kind] = whole_ns;
    if (effect->is_error)
        counts->counter[COUNTER_errors]++;
    if (effect->kernel_read != 0)
        counts->counter[COUNTER_kernel_read_bytes] += effect->kernel_read;
    if (effect->kernel_write != 0)
        counts->counter[COUNTER_kernel_write_bytes] += effect->kernel_write;
    if (effect->mapped != 0)
        counts->counter[COUNTER_mapped_bytes] += effect->mapped;
    if (kind <= KIND_write) {
        counts->counter[COUNTER_read_bytes + kind] += share->bytes;
        counts->bin[BINS_read_size + 10 * kind + size_bin(effect->bytes)]++;
    }
    if (kind <= KIND_meta && !effect->is_served)
        counts->bin[BINS_read_latency + 28 * kind + latency_bin(whole_ns)]++;
}

/* Whether a call lies in the open slice of the thread's lane, as far as the clock can be trusted. */
INLINE bool is_within(const struct thread *thread, uint64_t start_tick, uint64_t end_tick)
{
    return start_tick >= thread->begin_tick && end_tick < thread->end_tick && start_tick <= end_tick;
}

/* Where in the file the call went, and what it adds to the file's sums. Positions count from where the thread first met the descriptor, until
 * it seeks: enough to tell what follows on what. */
INLINE void add_to_stream(struct stream *stream, struct counts *counts, uint64_t whole_ns, int64_t offset, const struct effect *effect)
{
    enum call_kind kind = effect->kind;
    stream->counter[FILE_SUM(files_read_ops) + kind]++;
    stream->counter[FILE_SUM(files_read_bytes) + kind] += effect->bytes;
    stream->counter[FILE_SUM(files_read_ns) + kind] += whole_ns;
    bool moves_on = offset < 0;
    int64_t begin = moves_on ? stream->position : offset, last_end = stream->last_end;
    stream->last_end = begin + (int64_t)effect->bytes;
    if (moves_on)
        stream->position = begin + (int64_t)effect->bytes;
    if (begin == last_end) {
        counts->counter[COUNTER_read_sequential + kind]++;
        counts->counter[COUNTER_read_consecutive + kind]++;
    } else if (begin > last_end) {
        counts->counter[COUNTER_read_sequential + kind]++;
    } else if (last_end == NOTHING_TO_FOLLOW) {
        counts->counter[COUNTER_read_first + kind]++;
    }
}

/* The position of the stream's descriptor is another one now: `position`, or one that is not known (-1). */
INLINE void reposition(struct stream *stream, int64_t position)
{
    if (!stream->is_absolute || position < 0)
        stream->last_end = NOTHING_TO_FOLLOW;
    stream->is_absolute = position >= 0;
    stream->position = position >= 0 ? position : 0;
}

/* Where a descriptor's stream lies in a lane. A thread without a lane (NULL) gets an address that nobody may follow. It is computed as a number,
 * for no array begins there. */
INLINE struct stream *stream_of(struct lane *lane, int fd)
{
    return (struct stream *)((uintptr_t)lane + offsetof(struct lane, streams) + sizeof(struct stream) * ((unsigned)fd % STREAMS));
}

INLINE struct cell *stream_cell(struct lane *lane, const struct stream *stream)
{
    return (struct cell *)((unsigned char *)lane + stream->cell);
}

/* What `stream->usual` holds for a descriptor and a layer. For stdio this is the word as the table has it, since its calls are the cheapest. */
INLINE uint64_t usual_word(descriptor word, enum layer layer)
{
    return word | (uint64_t)(layer ^ LAYER_stdio) << DESCRIPTOR_LAYER_SHIFT;
}

/* Beside the usual word of a stream that is free: seeks alone are usual on it, for the thread has not read or written by the descriptor. */
#define SOUGHT_ALONE ((uint64_t)1 << 6)

/* Returns false, and has changed nothing, if there is anything unusual about the call. `offset`: of a call that moves the position, where to. */
INLINE bool count_usual(enum operation operation, enum layer layer, int fd, int64_t offset, uint64_t start_tick, uint64_t end_tick,
                        const struct effect *effect)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!LIKELY(guard_is_free(thread, &frame)))
        return false;
    guard_set(thread, &frame);
    struct lane *lane = thread->lane;
    struct stream *stream = stream_of(lane, fd);
    uint64_t besides = effect->kind == KIND_meta ? SOUGHT_ALONE : 0;
    bool is_usual = LIKELY(is_within(thread, start_tick, end_tick) && (stream->usual & ~besides) == usual_word(descriptor_word(fd), layer));
    if (is_usual) {
        struct cell *cell = stream_cell(lane, stream);
        struct share share = { .ns = ticks_to_ns(end_tick - start_tick), .bytes = effect->bytes };
        add_to_cell(cell, effect, &share, share.ns);
        lane->calls[operation]++;
        if (layer == LAYER_stdio)
            stream_catch_up(stream);
        if (effect->kind <= KIND_write)
            add_to_stream(stream, &cell->counts, share.ns, offset, effect);
        else
            reposition(stream, offset);
    }
    guard_clear(thread);
    return is_usual;
}

/* A stdio call that the stream's buffer served: no I/O happened, and so it is counted without a clock. It belongs to the slice in which its thread
 * last read the clock, which it does again after SERVED_A_READING of these calls, or at the next one where they come more than SERVED_APART_NS
 * apart (call_served_unusually). With `has_tick` it belongs to the slice of `tick`, for then the caller has read the clock. Returns false, and
 * has changed nothing, if that is due or anything else is unusual. */
INLINE bool count_served_by(bool has_tick, uint64_t tick, enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    struct thread *thread = &thread_state;
    void *frame; /* not volatile itself: the compiler would keep it to the caller's end, which then could not be a jump to the next function */
    void *volatile *at = &frame;
    if (!LIKELY(guard_is_free(thread, at)))
        return false;
    guard_set(thread, at);
    bool is_usual = LIKELY(has_tick ? tick < thread->end_tick : --thread->served_left >= 0);
    if (!has_tick && !is_usual)
        thread->served_left = 0;
    struct lane *lane = NULL;
    struct stream *stream = NULL;
    if (is_usual) {
        lane = thread->lane;
        stream = stream_of(lane, fd);
        __asm__("" : "+r"(stream)); /* else it is computed once more for some of its members */
        is_usual = LIKELY(descriptor_is_trusted(stream, fd));
    }
    if (is_usual) {
        struct cell *cell = stream_cell(lane, stream);
        cell->counts.counter[COUNTER_read_bytes + kind] += bytes;
        if (LIKELY(bytes <= SIZE_BIN_0_END))
            cell->served[kind]++;
        else
            add_served(&cell->counts, kind, size_bin(bytes), 1);
        lane->calls[operation]++;
        stream->counter[FILE_SUM(files_read_ops) + kind]++;
        stream->served_bytes[kind] += bytes;
    }
    guard_clear(thread);
    return is_usual;
}

INLINE bool count_served(enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    return count_served_by(false, 0, operation, kind, fd, bytes);
}

INLINE bool count_served_at(uint64_t tick, enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    return count_served_by(true, tick, operation, kind, fd, bytes);
}

void call_served_unusually(enum operation operation, enum call_kind kind, int fd, uint64_t bytes);
void call_served_late(uint64_t tick, enum operation operation, enum call_kind kind, int fd, uint64_t bytes);

INLINE void call_served(enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    if (!LIKELY(count_served(operation, kind, fd, bytes)))
        call_served_unusually(operation, kind, fd, bytes);
}

int64_t call_read_unusually(enum operation operation, int fd, int64_t offset, int64_t moved, uint64_t start_tick, uint64_t end_tick);
int64_t call_wrote_unusually(enum operation operation, int fd, int64_t offset, int64_t moved, uint64_t start_tick, uint64_t end_tick);
int64_t call_sought_unusually(enum operation operation, int fd, int64_t position, uint64_t start_tick, uint64_t end_tick);

/* Reads, writes and seeks of the posix layer. errno stays as it is, so that `call_stop` is enough before them and nothing is left to do after. */

/* It read (wrote) at `offset`, or at the descriptor's position if that is NO_OFFSET; `moved` is what the callee returned, -1 for an error.
 * Returns `moved`. */
INLINE int64_t call_read(const struct call *call, int fd, int64_t offset, int64_t moved)
{
    struct effect effect = { .kind = KIND_read, .bytes = (uint64_t)moved };
    if (LIKELY(moved >= 0 && count_usual(call->operation, LAYER_posix, fd, offset, call->start_tick, call->end_tick, &effect)))
        return moved;
    return call_read_unusually(call->operation, fd, offset, moved, call->start_tick, call->end_tick);
}

INLINE int64_t call_wrote(const struct call *call, int fd, int64_t offset, int64_t moved)
{
    struct effect effect = { .kind = KIND_write, .bytes = (uint64_t)moved };
    if (LIKELY(moved >= 0 && count_usual(call->operation, LAYER_posix, fd, offset, call->start_tick, call->end_tick, &effect)))
        return moved;
    return call_wrote_unusually(call->operation, fd, offset, moved, call->start_tick, call->end_tick);
}

/* It moved the descriptor's position to `position` (-1: failed). Returns `position`. */
INLINE int64_t call_sought(const struct call *call, int fd, int64_t position)
{
    struct effect effect = { .kind = KIND_meta };
    if (LIKELY(position >= 0 && count_usual(call->operation, LAYER_posix, fd, position, call->start_tick, call->end_tick, &effect)))
        return position;
    return call_sought_unusually(call->operation, fd, position, call->start_tick, call->end_tick);
}

#endif
