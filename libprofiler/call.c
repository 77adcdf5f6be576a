/* The hot path: what one call adds to its thread's lane. No lock and no atomic read-modify-write while the call lies within the lane's
 * slice. A signal handler that finds its thread in here counts on a lane of its own. */
#include "call_count.h"

#include "kernel.h"
#include "name.h"
#include "scratch.h"
#include "site.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

__thread struct thread thread_state;

const unsigned char operation_layer[OPERATIONS] = {
#define OPERATION(name, layer, kind, symbols) [OP_##name] = LAYER_##layer,
#include "operations.def"
};
const unsigned char operation_kind[OPERATIONS] = {
#define OPERATION(name, layer, kind, symbols) [OP_##name] = KIND_##kind,
#include "operations.def"
};

/* A handler that finds its thread holding the lock (lock.h) passes through, and so do some children that run in our memory. */
bool call_is_on_after_all(void)
{
    return !thread_state.holds_lock && (atomic_load(&vfork_children) == 0 || !vfork_child_is_left_alone()) && engine_start();
}

static inline uint64_t duration_ns(const struct call *call)
{
    return call->end_tick > call->start_tick ? ticks_to_ns(call->end_tick - call->start_tick) : 0;
}

static __attribute__((noinline)) void take_in_first_call(enum layer layer, const struct effect *effect)
{
    uint64_t read_bytes = effect->kernel_read, write_bytes = effect->kernel_write;
    if (layer == LAYER_posix && effect->kind <= KIND_write)
        *(effect->kind == KIND_read ? &read_bytes : &write_bytes) = effect->bytes;
    struct held_lock held = lock_take(&engine.lock);
    kernel_take_in_first_call(read_bytes, write_bytes);
    lock_give_keeping_signals(held);
}

enum { SHARES = 1 << 16 };

static inline uint64_t share_of(uint64_t whole, uint32_t share)
{
    return (uint64_t)((unsigned __int128)whole * share / SHARES);
}

/* The part of a copy's time that its reading had, or its writing: together they had the whole. */
static inline uint64_t part_of(uint64_t whole, const struct effect *effect)
{
    uint64_t reading = share_of(whole, effect->reading);
    return effect->is_reading_of_copy ? reading : whole - reading;
}

/* Counts on the thread's lane, which is the caller's alone until it returns. Returns the lane, or NULL if there is none. The duration is the
 * caller's to find, once, for a slice's turn may change what a tick is worth. */
static inline struct lane *count_here(struct thread *thread, const struct call *call, uint64_t whole_ns, uint32_t mount, const struct effect *effect)
{
    enum layer layer = operation_layer[call->operation];
    struct lane *lane = thread->lane;
    struct share share = { .ns = whole_ns, .bytes = effect->bytes };
    if (effect->reading != 0) {
        share.over_ns = whole_ns;
        share.ns = whole_ns = part_of(whole_ns, effect);
    }
    bool is_late = !LIKELY(is_within(thread, call->start_tick, call->end_tick));
    if (is_late && !site_is_all(thread, call)) {
        if (!lane_turn(thread, call, mount, layer, effect->kind, effect->bytes, &share))
            return NULL;
        lane = thread->lane;
        if (kernel_awaits_first_call)
            take_in_first_call(layer, effect);
    }
    unsigned place = lane->cell_of[layer][mount];
    struct cell *cell = LIKELY(place != 0) ? lane_cell(lane, place) : lane_attach(thread, mount, layer);
    add_to_cell(cell, effect, &share, whole_ns);
    lane->calls[call->operation] += !effect->is_reading_of_copy;
    if (is_late)
        site_look(thread, call, layer, whole_ns, share.ns, effect->bytes);
    return lane;
}

/* From here on a call on this stream, in this slice and layer, takes the fast path. */
static void open_fast_path(struct lane *lane, struct stream *stream, enum layer layer)
{
    if (layer == LAYER_stdio && stream->position != stream->last_end) {
        stream_is_unusual(stream);
        return;
    }
    stream->trust = NO_TRUST;
    stream->cell = (uint16_t)(lane->cell_of[layer][descriptor_mount(stream->descriptor)] * CELL_UNIT_BYTES);
    stream->usual = stream->cell != 0 ? usual_word(stream->descriptor, layer) : NOT_USUAL;
}

static void follow(struct lane *lane, const struct call *call, uint64_t whole_ns, int fd, descriptor word, int64_t offset,
                   const struct effect *effect)
{
    enum layer layer = operation_layer[call->operation];
    struct stream *stream = stream_of(lane, fd);
    if (stream->descriptor != word)
        stream_switch(lane, stream, fd, word, effect->bytes, whole_ns);
    stream_catch_up(stream);
    struct cell *cell = lane_cell(lane, lane->cell_of[layer][descriptor_mount(stream->descriptor)]);
    add_to_stream(stream, &cell->counts, whole_ns, offset, effect);
    open_fast_path(lane, stream, layer);
}

const struct size_bins size_bins = { SIZE_BINS_BY_BIT };

/* What stands for a descriptor where only the mount is known. */
static inline descriptor no_file_on(uint32_t mount)
{
    return DESCRIPTOR_KNOWN | (uint64_t)FILE_NONE << 16 | mount;
}

static inline bool is_followed(descriptor word)
{
    return word >> 32 != 0;
}

/* A signal handler interrupted this thread's bookkeeping: its own lane must not be touched. */
static void count_in_handler(struct thread *interrupted, const struct call *call, int fd, descriptor word, int64_t offset,
                             const struct effect *effect)
{
    bool kept_signals = interrupted->keeps_signals;
    struct thread thread = { .is_aside = 1, .is_registered = 1 };
    uint64_t whole_ns = duration_ns(call);
    struct lane *lane = count_here(&thread, call, whole_ns, descriptor_mount(word), effect);
    if (lane != NULL && is_followed(word))
        follow(lane, call, effect->reading != 0 ? part_of(whole_ns, effect) : whole_ns, fd, word, offset, effect);
    lane_release(&thread);
    if (!kept_signals)
        lock_give_signals_back(interrupted);
}

bool call_is_on(void)
{
    return is_on();
}

/* A wait for its turn is not the call's time. */
static __attribute__((noinline)) struct call without_wait(struct thread *thread, const struct call *call)
{
    struct call shorter = *call;
    uint64_t most = call->end_tick > call->start_tick ? call->end_tick - call->start_tick : 0;
    shorter.start_tick += thread->waited_ticks < most ? thread->waited_ticks : most;
    thread->waited_ticks = 0;
    return shorter;
}

void call_count_unusually(const struct call *call, uint32_t mount, const struct effect *effect)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    struct call shorter;
    if (!LIKELY(thread->waited_ticks == 0)) {
        shorter = without_wait(thread, call);
        call = &shorter;
    }
    if (!guard_begin(thread, &frame)) {
        count_in_handler(thread, call, -1, no_file_on(mount), NO_OFFSET, effect);
        return;
    }
    count_here(thread, call, duration_ns(call), mount, effect);
    guard_end(thread);
}

static __attribute__((noinline)) void count_touch_unusually(const struct call *call, uint32_t mount, bool is_error)
{
    struct effect effect = touch(call, is_error);
    call_count_unusually(call, mount, &effect);
}

static __attribute__((noinline)) void count_other_touch(const struct call *call, uint32_t mount, bool is_error)
{
    const struct effect effect = { .kind = KIND_sync, .is_error = is_error };
    if (operation_kind[call->operation] != KIND_sync || !count_usual_on_mount(call, mount, &effect))
        count_touch_unusually(call, mount, is_error);
}

/* A call that moved nothing, where calls are counted. Nearly all are on metadata: the compiler knows that there is nothing else to add up. */
INLINE void count_touch(const struct call *call, uint32_t mount, bool is_error)
{
    const struct effect effect = { .kind = KIND_meta, .is_error = is_error };
    if (!LIKELY(operation_kind[call->operation] == KIND_meta))
        count_other_touch(call, mount, is_error);
    else if (!count_usual_on_mount(call, mount, &effect))
        count_touch_unusually(call, mount, is_error);
}

void call_count_moved(const struct call *call, int fd, descriptor word, int64_t offset, const struct effect *effect)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!guard_begin(thread, &frame)) {
        count_in_handler(thread, call, fd, word, offset, effect);
        return;
    }
    uint64_t whole_ns = duration_ns(call);
    struct lane *lane = count_here(thread, call, whole_ns, descriptor_mount(word), effect);
    if (LIKELY(lane != NULL && is_followed(word)))
        follow(lane, call, effect->reading != 0 ? part_of(whole_ns, effect) : whole_ns, fd, word, offset, effect);
    guard_end(thread);
}

static int64_t moved_unusually(enum call_kind kind, enum operation operation, int fd, int64_t offset, int64_t moved, uint64_t start_tick,
                               uint64_t end_tick)
{
    if (!is_on())
        return moved;
    int saved_errno = errno_now();
    struct call call = { .operation = operation, .start_tick = start_tick, .end_tick = end_tick };
    struct effect effect = { .kind = kind, .bytes = moved > 0 ? (uint64_t)moved : 0, .is_error = moved < 0 };
    call_count_moved(&call, fd, descriptor_of(fd), offset, &effect);
    errno_put(saved_errno);
    return moved;
}

int64_t call_read_unusually(enum operation operation, int fd, int64_t offset, int64_t moved, uint64_t start_tick, uint64_t end_tick)
{
    return moved_unusually(KIND_read, operation, fd, offset, moved, start_tick, end_tick);
}

int64_t call_wrote_unusually(enum operation operation, int fd, int64_t offset, int64_t moved, uint64_t start_tick, uint64_t end_tick)
{
    return moved_unusually(KIND_write, operation, fd, offset, moved, start_tick, end_tick);
}

static void go_past_cache(int fd, uint64_t synced)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!is_on() || !guard_is_free(thread, &frame))
        return;
    guard_set(thread, &frame);
    const struct stream *stream = stream_of(thread->lane, fd);
    if (thread->lane != NULL && stream->descriptor == descriptor_word(fd))
        files_go_past_cache(engine.home.segment, stream, synced);
    guard_clear(thread);
}

void call_synced(int fd, int64_t moved)
{
    if (moved > 0)
        go_past_cache(fd, (uint64_t)moved);
}

void call_set_flags(int fd)
{
    go_past_cache(fd, 0);
}

/* Nobody asks what a smaller copy fetched: the system call would take a part of its time that is worth a word. */
enum { LONG_COPY_BYTES = 1 << 20 };
/* What the page cache takes for a byte that it has, or takes in, at most: a slow core copies 1 GB/s. */
enum { NS_A_CACHED_BYTE = 1 };
/* A copy that fetched less than one byte in so many found what it read in memory. */
enum { COLD_SHARE = 16 };

uint64_t call_fetched(size_t size)
{
    struct rusage used;
    if (size < LONG_COPY_BYTES || !is_on())
        return FETCHED_UNKNOWN;
    int kept = errno_now();
    bool is_told = raw_getrusage(RUSAGE_THREAD, &used) == 0;
    errno_put(kept);
    return is_told ? (uint64_t)used.ru_inblock * RUSAGE_BLOCK_BYTES : FETCHED_UNKNOWN;
}

/* The share of a copy's time, in SHARES, that was reading. What lies in memory, as files of tmpfs and what the page cache has or takes in, is
 * waited for by nobody, so that the other side had the time. Each side had half of it where both waited, or where it is not known. A copy
 * that fills the page cache with what is to be written waits for either side, which nothing tells apart: it counts as reading. */
static uint32_t reading_share(const struct call *call, descriptor from, descriptor to, uint64_t bytes, uint64_t fetched_before)
{
    const struct segment *segment = engine.home.segment;
    uint32_t source = mount_of_word(from), target = mount_of_word(to);
    if (segment == NULL)
        return SHARES / 2;
    bool from_memory = mount_is_memory(segment, source), to_memory = mount_is_memory(segment, target);
    if (from_memory != to_memory)
        return to_memory ? SHARES : 0;
    uint64_t fetched = fetched_before == FETCHED_UNKNOWN ? FETCHED_UNKNOWN : call_fetched(LONG_COPY_BYTES), cached_ns = bytes * NS_A_CACHED_BYTE;
    uint64_t whole_ns = duration_ns(call);
    if (fetched == FETCHED_UNKNOWN || cached_ns >= whole_ns / 2)
        return SHARES / 2;
    uint32_t cached = (uint32_t)((unsigned __int128)cached_ns * SHARES / whole_ns);
    bool is_cold = fetched - fetched_before >= bytes / COLD_SHARE;
    if (is_cold)
        return mount_is_on_disk(segment, target) && !files_any_past_cache ? SHARES - cached : SHARES / 2;
    return mount_is_on_disk(segment, source) ? cached : SHARES / 2;
}

/* As if it were the read() and the write() that it does the work of, so that time and bytes are counted once on either side. The kernel copies a
 * piece at a time: a long call reads and writes in each of its slices. */
void call_copied(const struct call *call, int from, int64_t from_offset, int to, int64_t to_offset, int64_t moved, uint64_t fetched_before)
{
    if (!is_on())
        return;
    struct call reading = *call, writing = *call;
    descriptor source = descriptor_of(from), target = descriptor_of(to);
    uint64_t bytes = moved > 0 ? (uint64_t)moved : 0;
    struct effect effect = { .kind = KIND_read, .bytes = bytes, .is_reading_of_copy = true };
    uint32_t share = moved >= 0 ? reading_share(call, source, target, bytes, fetched_before) : 0;
    if (bytes > 0 && share > 0 && share < SHARES && !is_within(&thread_state, call->start_tick, call->end_tick))
        effect.reading = share;
    else
        reading.end_tick = writing.start_tick = call->start_tick + share_of(call->end_tick - call->start_tick, share);
    if (moved >= 0)
        call_count_moved(&reading, from, source, from_offset, &effect);
    effect = (struct effect){ .kind = KIND_write, .bytes = bytes, .is_error = moved < 0, .reading = effect.reading };
    call_count_moved(&writing, to, target, to_offset, &effect);
}

descriptor call_descriptor(int fd)
{
    return is_on() ? descriptor_of(fd) : 0;
}

descriptor call_inherited(int fd)
{
    if (!is_on())
        return 0;
    const uint64_t *mount = engine.home.segment->mounts[descriptor_mount(descriptor_of(fd))];
    /* The kernel's pseudo files are `other` on a device. */
    return lazy_start_word(mount[mounts_device] != 0 ? OBJECT_file : (enum object)mount[mounts_object], mount[mounts_device]);
}

uint32_t call_mount_of_look(descriptor look)
{
    return is_on() ? mount_of_device(lazy_start_object(look), lazy_start_device(look)) : MOUNT_OTHER;
}

void call_touched_descriptor(const struct call *call, descriptor word, bool is_error)
{
    if ((!is_unstarted() || !lazy_start_defers(call, word, is_error)) && is_on())
        count_touch(call, mount_of_word(word), is_error);
}

void call_mapped(const struct call *call, int fd, int64_t bytes)
{
    if (!is_on())
        return;
    struct effect effect = touch(call, bytes < 0);
    effect.mapped = (at_least_0(bytes) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES; /* the kernel fetches whole pages */
    count(call, descriptor_mount(descriptor_of(fd)), &effect);
}

/* The word as the table has it now; without its file if the descriptor was closed before anybody looked that up. */
static descriptor brought_up_to_date(int fd, descriptor word)
{
    descriptor now = !vfork_child_is_caller() ? descriptor_word(fd) : 0;
    if (now >> 32 == word >> 32)
        return now;
    return descriptor_file(word) == FILE_NOT_USED ? no_file_on(descriptor_mount(word)) : word;
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
    call_count_moved(call, fd, brought_up_to_date(fd, word), offset, &effect);
}

void call_touched(const struct call *call, int fd, bool is_error)
{
    if (is_unstarted() && lazy_start_may_defer(call->operation))
        call_touched_descriptor(call, lazy_start_look(fd), is_error);
    else if (is_on())
        count_touch(call, descriptor_mount(descriptor_of(fd)), is_error);
}

void call_reposition(const struct call *call, int fd, descriptor word, int64_t position)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (!guard_begin(thread, &frame))
        return;
    struct stream *stream = stream_of(thread->lane, fd);
    if (thread->lane != NULL && stream->descriptor == word) {
        stream_catch_up(stream);
        reposition(stream, position);
        open_fast_path(thread->lane, stream, operation_layer[call->operation]);
    }
    guard_end(thread);
}

/* From here on a seek by a descriptor that nothing was read or written by takes the fast path, unless another one has the place. */
static void open_fast_path_of_seeks(struct lane *lane, int fd, descriptor word)
{
    struct thread *thread = &thread_state;
    struct stream *stream = stream_of(lane, fd);
    void *volatile frame;
    if (stream->descriptor != 0 || !guard_begin(thread, &frame))
        return;
    if (thread->lane == lane && stream->descriptor == 0) {
        stream_is_unusual(stream);
        stream->cell = (uint16_t)(lane->cell_of[LAYER_posix][descriptor_mount(word)] * CELL_UNIT_BYTES);
        stream->usual = stream->cell != 0 ? usual_word(word, LAYER_posix) | SOUGHT_ALONE : NOT_USUAL;
    }
    guard_end(thread);
}

/* A seek of a descriptor of which the thread follows no position, for it has not read or written by it (in this slice). Returns false, and has
 * changed nothing, if anything else is unusual. */
static bool sought_unfollowed(const struct call *call, int fd)
{
    const struct effect effect = { .kind = KIND_meta };
    struct lane *lane = thread_state.lane;
    descriptor word = descriptor_word(fd);
    bool is_counted = word != 0 && lane != NULL && stream_of(lane, fd)->descriptor != word && atomic_load(&vfork_children) == 0 &&
                      count_usual_on_mount(call, descriptor_mount(word), &effect);
    if (is_counted)
        open_fast_path_of_seeks(lane, fd, word);
    return is_counted;
}

int64_t call_sought_unusually(enum operation operation, int fd, int64_t position, uint64_t start_tick, uint64_t end_tick)
{
    const struct call sought = { .operation = operation, .start_tick = start_tick, .end_tick = end_tick };
    if (!is_on() || (LIKELY(position >= 0) && sought_unfollowed(&sought, fd)))
        return position;
    int saved_errno = errno_now();
    struct call call = { .operation = operation, .start_tick = start_tick, .end_tick = end_tick };
    descriptor word = descriptor_of(fd);
    call_touched_descriptor(&call, word, position < 0);
    if (position >= 0)
        call_reposition(&call, fd, word, position);
    errno_put(saved_errno);
    return position;
}

void call_named(const struct call *call, int dirfd, const char *path, bool is_error)
{
    if (!is_on())
        return;
    count_touch(call, name_mount(call, dirfd, path, is_error), is_error);
    if (!is_error)
        name_changed(call->operation);
}

void call_named_on(const struct call *call, int dirfd, const char *path, uint64_t device, uint32_t mode)
{
    if (!is_on())
        return;
    enum object object = object_of_mode(mode);
    uint32_t mount = mount_find(engine.home.segment, object, device);
    if (__builtin_expect(mount == MOUNT_NOT_KNOWN, 0)) {
        name_mount(call, dirfd, path, false); /* some devices are no mount's, and are known by the name */
        mount = mount_of_device(object, device);
    }
    count_touch(call, mount, false);
}

void call_opened(const struct call *call, int fd, int dirfd, const char *path)
{
    if (!is_on())
        return;
    count_touch(call, fd >= 0 ? descriptor_mount(descriptor_opened(fd, dirfd, path)) : name_mount(call, dirfd, path, true), fd < 0);
}

void call_idled(enum operation operation)
{
    struct call call = call_begin(operation);
    call.end_tick = call.start_tick;
    call.saved_errno = errno;
    call_touched_descriptor(&call, 0, false);
    call_close(&call);
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
void call_lived_often(const struct call *call, uint32_t times)
{
    struct thread *thread = &thread_state;
    struct share nothing = { 0 };
    void *volatile frame;
    if (is_unstarted() && lazy_start_note(call->operation, times))
        return;
    if (!is_on() || !guard_begin(thread, &frame))
        return;
    if (thread->lane == NULL && lane_turn(thread, call, MOUNT_OTHER, LAYER_posix, KIND_life, 0, &nothing))
        thread->end_tick = thread->begin_tick; /* the next call, which may have ended before, is looked at: a sample may be due */
    if (thread->lane != NULL)
        thread->lane->calls[call->operation] += times;
    guard_end(thread);
}

void call_lived(const struct call *call)
{
    call_lived_often(call, 1);
}

#define CALIBRATION_CALLS 16 /* few: short processes pay for them too */

uint64_t call_cost_ps(void)
{
    struct thread thread = { .lane = memset(scratch.lane, 0, sizeof scratch.lane), .end_tick = UINT64_MAX };
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < 2; round++) {
        uint64_t began = tick_now();
        for (int i = 0; i < CALIBRATION_CALLS; i++) {
            struct call call = call_begin(OP_pwrite);
            call_stop(&call);
            struct effect effect = { .kind = KIND_write, .bytes = 4096 };
            struct lane *lane = count_here(&thread, &call, duration_ns(&call), MOUNT_OTHER, &effect);
            add_to_stream(&lane->streams[0], &lane->cells[0].counts, duration_ns(&call), (int64_t)i * 4096, &effect);
        }
        uint64_t ticks = tick_now() - began;
        least = ticks < least ? ticks : least;
    }
    return ticks_to_ns(least * 1000) / CALIBRATION_CALLS;
}

uint64_t call_statx_ps(void)
{
    uint64_t least = UINT64_MAX;
    struct statx status;
    for (int round = 0; round < 3; round++) {
        uint64_t began = tick_now();
        raw_statx(AT_FDCWD, "", AT_EMPTY_PATH, &status);
        uint64_t ticks = tick_now() - began;
        least = ticks < least ? ticks : least;
    }
    return ticks_to_ns(least * 1000);
}
