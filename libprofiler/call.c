/* The hot path: what one call adds to its thread's lane. No lock and no atomic read-modify-write while the call lies within the lane's
 * slice. A signal handler that finds its thread in here counts on a lane of its own. */
#include "descriptor.h"
#include "engine.h"
#include "mount.h"
#include "site.h"
#include "state.h"

#include <sys/sysmacros.h>
#include <wchar.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

__thread struct thread thread_state = { .lane = &no_lane };

const unsigned char operation_layer[OPERATIONS] = {
#define OPERATION(name, layer, kind, symbols) [OP_##name] = LAYER_##layer,
#include "operations.def"
};
const unsigned char operation_kind[OPERATIONS] = {
#define OPERATION(name, layer, kind, symbols) [OP_##name] = KIND_##kind,
#include "operations.def"
};

/* What a call did, as the caller knows it. */
struct effect {
    uint64_t bytes;                     /* moved */
    uint64_t kernel_read, kernel_write; /* stdio: passed from and to the kernel underneath */
    uint64_t mapped;                    /* into memory */
    enum call_kind kind;
    bool is_error;
    bool is_other_half;                 /* of a call that is counted already */
};

/* Bins of transfer sizes: a first guess by the number of bits, put right by one comparison. */
static unsigned size_bin(uint64_t bytes)
{
    static const uint64_t upper_ends[] = { 100, 1024, 10240, 102400, 1048576, 4194304, 10485760, 104857600, 1073741824 };
    static const unsigned char guess_of_bits[65] = {
        [8 ... 11] = 1, [12 ... 14] = 2, [15 ... 17] = 3, [18 ... 21] = 4, [22 ... 23] = 5, [24] = 6, [25 ... 27] = 7, [28 ... 31] = 8, [32 ... 64] = 9,
    };
    unsigned bin = guess_of_bits[bytes == 0 ? 0 : 64 - __builtin_clzll(bytes)];
    return bin + (bin < 9 && bytes > upper_ends[bin]);
}

static unsigned latency_bin(uint64_t ns)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(ns | 1); /* 128 ns has 8 */
    return bits < 8 ? 0 : bits - 7 < 27 ? bits - 7 : 27;
}

static inline void add_to_cell(struct cell *cell, const struct effect *effect, const struct share *share, uint64_t whole_ns)
{
    struct counts *counts = &cell->counts;
    enum call_kind kind = effect->kind;
    counts->counter[COUNTER_read_ops + kind]++;
    counts->counter[COUNTER_read_ns + kind] += share->ns;
    if (whole_ns > counts->counter[COUNTER_read_slowest_ns + kind])
        counts->counter[COUNTER_read_slowest_ns + kind] = whole_ns;
    counts->counter[COUNTER_errors] += effect->is_error;
    counts->counter[COUNTER_kernel_read_bytes] += effect->kernel_read;
    counts->counter[COUNTER_kernel_write_bytes] += effect->kernel_write;
    counts->counter[COUNTER_mapped_bytes] += effect->mapped;
    if (kind <= KIND_write) {
        counts->counter[COUNTER_read_bytes + kind] += share->bytes;
        counts->bin[BINS_read_size + 10 * kind + size_bin(effect->bytes)]++;
    }
    if (kind <= KIND_meta)
        counts->bin[BINS_read_latency + 28 * kind + latency_bin(whole_ns)]++;
}

static inline uint64_t duration_ns(const struct call *call)
{
    return call->end_tick > call->start_tick ? ticks_to_ns(call->end_tick - call->start_tick) : 0;
}

/* Counts on the thread's lane, which is the caller's alone until it returns. Returns the lane, or NULL if there is none. The duration is the
 * caller's to find, once, for a slice's turn may change what a tick is worth. */
static inline struct lane *count_here(struct thread *thread, const struct call *call, uint64_t whole_ns, uint32_t mount, const struct effect *effect)
{
    enum layer layer = operation_layer[call->operation];
    struct lane *lane = thread->lane;
    struct share share = { .ns = whole_ns, .bytes = effect->bytes };
    if (!LIKELY(call->start_tick - lane->begin_tick < lane->span_ticks && call->end_tick - lane->begin_tick < lane->span_ticks)) {
        if (!lane_turn(thread, call, mount, layer, effect->kind, effect->bytes, &share))
            return NULL;
        lane = thread->lane;
    }
    unsigned cell_number = lane->cell_of[layer][mount];
    struct cell *cell = LIKELY(cell_number != 0) ? &lane->cells[cell_number - 1] : lane_attach(thread, mount, layer);
    add_to_cell(cell, effect, &share, whole_ns);
    lane->calls[call->operation] += !effect->is_other_half;
    /* MPI-IO's calls and requests have calls below them, or beside them, that are sampled. */
    thread->site_left_ns -= layer <= LAYER_stdio ? (int64_t)whole_ns : 0;
    if (!LIKELY(thread->site_left_ns >= 0))
        site_due(thread, call, whole_ns, effect->bytes);
    return lane;
}

/* Where in the file the call went, and what it adds to the file's sums. */
static inline void follow(struct lane *lane, const struct call *call, uint64_t whole_ns, int fd, descriptor word, int64_t offset,
                          const struct effect *effect)
{
    struct stream *stream = &lane->streams[(unsigned)fd % STREAMS];
    if (!LIKELY(stream->descriptor == word && stream->fd == (uint32_t)fd))
        stream_switch(stream, fd, word);
    enum call_kind kind = effect->kind;
    stream->counter[files_read_ops + kind]++;
    stream->counter[files_read_bytes + kind] += effect->bytes;
    stream->counter[files_read_ns + kind] += whole_ns;

    /* Positions count from where the thread first met the descriptor, until it seeks: enough to tell what follows on what. */
    int64_t begin = offset != NO_OFFSET ? offset : stream->position;
    struct counts *counts = &lane->cells[lane->cell_of[operation_layer[call->operation]][descriptor_mount(word)] - 1].counts;
    counts->counter[COUNTER_read_sequential + kind] += stream->last_end >= 0 && begin >= stream->last_end;
    counts->counter[COUNTER_read_consecutive + kind] += begin == stream->last_end;
    stream->last_end = begin + (int64_t)effect->bytes;
    if (offset == NO_OFFSET)
        stream->position = stream->last_end;
}

/* What stands for a descriptor where only the mount is known. */
static inline descriptor no_file_on(uint32_t mount)
{
    return DESCRIPTOR_KNOWN | (uint64_t)FILE_NONE << 16 | mount;
}

/* A signal handler interrupted this thread's bookkeeping: its own lane must not be touched. */
static void count_aside(struct thread *thread, const struct call *call, int fd, descriptor word, int64_t offset, const struct effect *effect)
{
    struct thread interrupted = *thread;
    thread->lane = &no_lane;
    thread->is_aside = 1;
    uint64_t whole_ns = duration_ns(call);
    struct lane *lane = count_here(thread, call, whole_ns, descriptor_mount(word), effect);
    if (lane != NULL && descriptor_file(word) != FILE_NONE)
        follow(lane, call, whole_ns, fd, word, offset, effect);
    lane_release(thread);
    *thread = interrupted;
}

static inline bool is_on(void)
{
    return LIKELY(atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON) || engine_wake();
}

static void count(const struct call *call, uint32_t mount, const struct effect *effect)
{
    struct thread *thread = &thread_state;
    if (!is_on())
        return;
    if (thread->is_counting) {
        count_aside(thread, call, -1, no_file_on(mount), NO_OFFSET, effect);
        return;
    }
    thread->is_counting = 1;
    atomic_signal_fence(memory_order_seq_cst);
    count_here(thread, call, duration_ns(call), mount, effect);
    atomic_signal_fence(memory_order_seq_cst);
    thread->is_counting = 0;
}

static inline void count_moved(const struct call *call, int fd, descriptor word, int64_t offset, const struct effect *effect)
{
    struct thread *thread = &thread_state;
    if (thread->is_counting) {
        count_aside(thread, call, fd, word, offset, effect);
        return;
    }
    thread->is_counting = 1;
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t whole_ns = duration_ns(call);
    struct lane *lane = count_here(thread, call, whole_ns, descriptor_mount(word), effect);
    if (LIKELY(lane != NULL && descriptor_file(word) != FILE_NONE))
        follow(lane, call, whole_ns, fd, word, offset, effect);
    atomic_signal_fence(memory_order_seq_cst);
    thread->is_counting = 0;
}

static inline void moved(const struct call *call, enum call_kind kind, int fd, int64_t offset, int64_t bytes)
{
    if (!is_on())
        return;
    struct effect effect = { .kind = kind, .bytes = bytes > 0 ? (uint64_t)bytes : 0, .is_error = bytes < 0 };
    count_moved(call, fd, descriptor_of(fd), offset, &effect);
}

void call_read(const struct call *call, int fd, int64_t offset, int64_t bytes)
{
    moved(call, KIND_read, fd, offset, bytes);
}

void call_wrote(const struct call *call, int fd, int64_t offset, int64_t bytes)
{
    moved(call, KIND_write, fd, offset, bytes);
}

/* As if it were the read() and the write() that it does the work of, so that time and bytes are counted once on either side. */
void call_copied(const struct call *call, int from, int64_t from_offset, int to, int64_t to_offset, int64_t bytes)
{
    if (!is_on())
        return;
    struct call reading = *call, writing = *call;
    reading.end_tick = writing.start_tick = call->start_tick + (call->end_tick - call->start_tick) / 2;
    struct effect effect = { .kind = KIND_read, .bytes = bytes > 0 ? (uint64_t)bytes : 0, .is_other_half = true };
    if (bytes >= 0)
        count_moved(&reading, from, descriptor_of(from), from_offset, &effect);
    else
        writing.start_tick = call->start_tick;
    effect = (struct effect){ .kind = KIND_write, .bytes = effect.bytes, .is_error = bytes < 0 };
    count_moved(&writing, to, descriptor_of(to), to_offset, &effect);
}

static uint64_t at_least_0(int64_t number)
{
    return number > 0 ? (uint64_t)number : 0;
}

descriptor call_descriptor(int fd)
{
    return is_on() ? descriptor_of(fd) : 0;
}

static struct effect touch(const struct call *call, bool is_error)
{
    return (struct effect){ .kind = operation_kind[call->operation], .is_error = is_error };
}

void call_touched_descriptor(const struct call *call, descriptor word, bool is_error)
{
    struct effect effect = touch(call, is_error);
    count(call, word != 0 ? descriptor_mount(word) : MOUNT_OTHER, &effect);
}

void call_mapped(const struct call *call, int fd, int64_t bytes)
{
    if (!is_on())
        return;
    struct effect effect = touch(call, bytes < 0);
    effect.mapped = at_least_0(bytes);
    count(call, descriptor_mount(descriptor_of(fd)), &effect);
}

/* The word as the table has it now; without its file if the descriptor was closed before anybody looked that up. */
static descriptor brought_up_to_date(int fd, descriptor word)
{
    descriptor now = (unsigned)fd < DESCRIPTORS_MAX ? atomic_load_explicit(&descriptor_table[fd], memory_order_relaxed) : 0;
    if (now >> 32 == word >> 32)
        return now;
    return descriptor_file(word) == FILE_NOT_LOOKED_UP ? no_file_on(descriptor_mount(word)) : word;
}

void call_request_done(const struct call *call, int fd, descriptor word, int64_t offset, int64_t bytes, bool is_in_kernel_count)
{
    if (!is_on())
        return;
    struct effect effect = touch(call, bytes < 0);
    if (effect.kind == KIND_life) {
        call_lived(call);
        return;
    }
    if (effect.kind > KIND_write) {
        count(call, descriptor_mount(word), &effect);
        return;
    }
    effect.bytes = at_least_0(bytes);
    if (is_in_kernel_count)
        *(effect.kind == KIND_read ? &effect.kernel_read : &effect.kernel_write) = effect.bytes;
    count_moved(call, fd, brought_up_to_date(fd, word), offset, &effect);
}

void call_touched(const struct call *call, int fd, bool is_error)
{
    if (is_on())
        call_touched_descriptor(call, descriptor_of(fd), is_error);
}

/* The descriptor's position is another one now: `position`, or one that is not known (-1). */
static void reposition(int fd, descriptor word, int64_t position)
{
    struct thread *thread = &thread_state;
    struct stream *stream = &thread->lane->streams[(unsigned)fd % STREAMS];
    if (thread->is_counting || thread->lane == &no_lane || stream->descriptor != word || stream->fd != (uint32_t)fd)
        return;
    thread->is_counting = 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (!stream->is_absolute || position < 0)
        stream->last_end = -1;
    stream->is_absolute = position >= 0;
    stream->position = position >= 0 ? position : 0;
    atomic_signal_fence(memory_order_seq_cst);
    thread->is_counting = 0;
}

void call_sought(const struct call *call, int fd, int64_t position)
{
    if (!is_on())
        return;
    descriptor word = descriptor_of(fd);
    call_touched_descriptor(call, word, position < 0);
    if (position >= 0)
        reposition(fd, word, position);
}

static uint32_t mount_of_name(int dirfd, const char *path)
{
    struct statx status;
    if (path != NULL && path[0] == '/')
        return engine_mount_of_path(path);
    if (dirfd != AT_FDCWD)
        return descriptor_mount(descriptor_of(dirfd));
    if (raw_statx(AT_FDCWD, "", AT_EMPTY_PATH, &status) < 0)
        return MOUNT_OTHER;
    return mount_of_device(OBJECT_file, makedev(status.stx_dev_major, status.stx_dev_minor), -1);
}

void call_named(const struct call *call, int dirfd, const char *path, bool is_error)
{
    if (!is_on())
        return;
    struct effect effect = touch(call, is_error);
    count(call, mount_of_name(dirfd, path), &effect);
}

void call_named_on(const struct call *call, uint64_t device, uint32_t mode)
{
    if (!is_on())
        return;
    struct effect effect = touch(call, false);
    count(call, mount_of_device(object_of_mode(mode), device, -1), &effect);
}

void call_opened(const struct call *call, int fd, int dirfd, const char *path)
{
    if (!is_on())
        return;
    struct effect effect = touch(call, fd < 0);
    count(call, fd >= 0 ? descriptor_mount(descriptor_classify(fd)) : mount_of_name(dirfd, path), &effect);
}

/* How glibc's wide streams begin: the characters beside the bytes that they come from and go to. */
struct _IO_wide_data {
    wchar_t *read_ptr, *read_end, *read_base, *write_base, *write_ptr;
};

/* A character that lies in a buffer is taken for one byte: what it has more is counted when it comes or goes, so that sums are right. */
static struct stream_state wide_stream_state(struct stream_state state, const struct _IO_wide_data *wide)
{
    state.readable += wide->read_end - wide->read_ptr;
    state.pending += wide->write_ptr > wide->write_base ? wide->write_ptr - wide->write_base : 0;
    return state;
}

/* glibc's streams: what lies read ahead, what lies written but not handed on, and where the kernel's position is. */
struct stream_state stream_state(FILE *stream)
{
    struct stream_state state = {
        .readable = stream->_IO_read_end - stream->_IO_read_ptr,
        .filled = stream->_IO_read_end - stream->_IO_read_base,
        .pending = stream->_IO_write_ptr > stream->_IO_write_base ? stream->_IO_write_ptr - stream->_IO_write_base : 0,
        .kernel_position = stream->_offset,
    };
    return LIKELY(stream->_mode <= 0) ? state : wide_stream_state(state, stream->_wide_data);
}

/* Bytes taken out of the buffer, which was filled anew at most once in between. */
static int64_t consumed(struct stream_state before, struct stream_state after)
{
    bool is_refilled = after.readable > before.readable || after.filled != before.filled;
    return is_refilled ? before.readable + after.filled - after.readable : before.readable - after.readable;
}

static void stream_moved(const struct call *call, enum call_kind kind, FILE *stream, struct stream_state before, int64_t bytes)
{
    int fd = stream->_fileno;
    if (fd < 0 || !is_on()) /* a stream in memory moves nothing */
        return;
    struct stream_state after = stream_state(stream);
    if (bytes == BY_STATE)
        bytes = consumed(before, after);
    int64_t got = bytes > 0 ? bytes : 0;
    struct effect effect = {
        .kind = kind,
        .bytes = (uint64_t)got,
        .kernel_read = kind == KIND_read ? at_least_0(got + after.readable - before.readable) : 0,
        .kernel_write = at_least_0((kind == KIND_write ? got : 0) + before.pending - after.pending),
        .is_error = bytes < 0,
    };
    count_moved(call, fd, descriptor_of(fd), NO_OFFSET, &effect);
}

void call_stream_touched(const struct call *call, FILE *stream, struct stream_state before, bool is_error)
{
    int fd = stream->_fileno;
    if (fd < 0 || !is_on())
        return;
    struct stream_state after = stream_state(stream);
    struct effect effect = touch(call, is_error);
    effect.kernel_write = at_least_0(before.pending - after.pending);
    /* A seek beyond the buffer fills it anew, which may bring the kernel's position back to where it was. */
    if (call->operation == OP_fseek && (after.kernel_position != before.kernel_position || after.filled != before.filled))
        effect.kernel_read = at_least_0(after.filled);
    descriptor word = descriptor_of(fd);
    count(call, descriptor_mount(word), &effect);
    if (call->operation == OP_fseek)
        reposition(fd, word, -1);
}

void call_streams_flushed(const struct call *call, int64_t pending)
{
    struct effect effect = touch(call, false);
    effect.kernel_write = at_least_0(pending);
    count(call, MOUNT_OTHER, &effect);
}

void call_stream_closed(const struct call *call, descriptor word, struct stream_state before, bool is_error)
{
    struct effect effect = touch(call, is_error);
    effect.kernel_write = at_least_0(before.pending);
    if (word != 0)
        count(call, descriptor_mount(word), &effect);
}

void call_stream_read(const struct call *call, FILE *stream, struct stream_state before, int64_t bytes)
{
    stream_moved(call, KIND_read, stream, before, bytes);
}

void call_stream_wrote(const struct call *call, FILE *stream, struct stream_state before, int64_t bytes)
{
    stream_moved(call, KIND_write, stream, before, bytes);
}

void call_mpi_moved(const struct call *call, uint32_t mount, int64_t bytes)
{
    struct effect effect = touch(call, bytes < 0);
    effect.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    count(call, mount, &effect);
}

void call_mpi_touched(const struct call *call, uint32_t mount, bool is_error)
{
    struct effect effect = touch(call, is_error);
    count(call, mount, &effect);
}

/* Not I/O: a number among the calls, and nothing in any slice. */
void call_lived(const struct call *call)
{
    struct thread *thread = &thread_state;
    struct share nothing = { 0 };
    if (!is_on() || thread->is_counting)
        return;
    thread->is_counting = 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (thread->lane != &no_lane || lane_turn(thread, call, MOUNT_OTHER, LAYER_posix, KIND_life, 0, &nothing))
        thread->lane->calls[call->operation]++;
    atomic_signal_fence(memory_order_seq_cst);
    thread->is_counting = 0;
}

#define CALIBRATION_CALLS 64

uint64_t call_cost_ps(void)
{
    static struct { struct lane lane; unsigned char rest[LANE_BYTES - sizeof(struct lane)]; } scratch;
    struct thread thread = { .lane = &scratch.lane, .site_left_ns = INT64_MAX };
    scratch.lane.span_ticks = INT64_MAX;
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < 3; round++) {
        uint64_t began = tick_now();
        for (int i = 0; i < CALIBRATION_CALLS; i++) {
            struct call call = call_begin(OP_pwrite);
            call_end(&call);
            struct effect effect = { .kind = KIND_write, .bytes = 4096 };
            struct lane *lane = count_here(&thread, &call, duration_ns(&call), MOUNT_OTHER, &effect);
            follow(lane, &call, duration_ns(&call), 0, no_file_on(MOUNT_OTHER), (int64_t)i * 4096, &effect);
            call_close(&call);
        }
        uint64_t ticks = tick_now() - began;
        least = ticks < least ? ticks : least;
    }
    return ticks_to_ns(least * 1000) / CALIBRATION_CALLS;
}
