/* Calls of stdio on streams: what they moved to and from the kernel underneath, and calls that a stream's buffer served. As call.h says, for any
 * thread at any time; a call takes the fast path if it can. */
#include "call_count.h"

#include "name.h"

/* A character that lies in a buffer is taken for one byte: what it has more is counted when it comes or goes, so that sums are right. */
struct stream_state unusual_stream_state(struct stream_state state, const FILE *stream)
{
    bool is_in_backup = (stream->_flags & STREAM_IN_BACKUP) != 0;
    if (stream->_mode > 0) {
        const struct _IO_wide_data *wide = stream->_wide_data;
        state.readable += wide->read_end - wide->read_ptr + (is_in_backup ? wide->save_end - wide->save_base : 0);
        state.pending += wide->write_ptr > wide->write_base ? wide->write_ptr - wide->write_base : 0;
    } else if (is_in_backup) {
        state.filled = stream->_IO_save_end - stream->_IO_save_base;
        state.readable += state.filled;
    }
    return state;
}

/* Bytes taken out of the buffer, which was filled anew at most once in between. */
static int64_t consumed(struct stream_state before, struct stream_state after)
{
    bool is_refilled = after.readable > before.readable || after.filled != before.filled;
    return is_refilled ? before.readable + after.filled - after.readable : before.readable - after.readable;
}

INLINE void stream_moved(const struct call *call, enum call_kind kind, FILE *stream, struct stream_state before, int64_t bytes)
{
    int fd = stream->_fileno;
    if (fd < 0) /* a stream in memory moves nothing */
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
    if (!count_usual(call->operation, LAYER_stdio, fd, NO_OFFSET, call->start_tick, call->end_tick, &effect) && is_on())
        call_count_moved(call, fd, descriptor_of(fd), NO_OFFSET, &effect);
}

/* How long the thread may do without the clock from here on: as long as its last calls make it likely that little time passes. */
static void pace_served(struct thread *thread, uint64_t tick)
{
    uint64_t calls = (uint64_t)thread->served_given + 1 - (thread->served_left > 0 ? (uint64_t)thread->served_left : 0);
    bool is_fast = tick >= thread->served_tick && ticks_to_ns(tick - thread->served_tick) < calls * SERVED_APART_NS;
    thread->served_given = is_fast ? SERVED_A_READING : 0;
    thread->served_left = thread->served_given;
    thread->served_tick = tick;
}

/* Prepares the next calls that the stream's buffer serves. */
static __attribute__((noinline)) void prepare_served(struct thread *thread, int fd)
{
    int saved_errno = errno_now();
    void *volatile frame;
    if (!guard_begin(thread, &frame))
        return;
    struct stream *stream = stream_of(thread->lane, fd);
    if (stream->usual != NOT_USUAL)
        lane_relieve(thread, stream_cell(thread->lane, stream));
    descriptor_trust(stream, fd);
    guard_end(thread);
    errno_put(saved_errno);
}

/* For a call that has read the clock: counts it by whatever way is open. */
void call_served_late(uint64_t tick, enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    if (fd < 0 || !is_on()) /* a stream in memory moves nothing */
        return;
    int saved_errno = errno_now();
    struct call call = { .operation = operation, .start_tick = tick, .end_tick = tick };
    struct effect effect = { .kind = kind, .bytes = bytes, .is_served = true };
    call_count_moved(&call, fd, descriptor_of(fd), NO_OFFSET, &effect);
    errno_put(saved_errno);
    if (thread_state.lane != NULL)
        prepare_served(&thread_state, fd);
}

void call_served_unusually(enum operation operation, enum call_kind kind, int fd, uint64_t bytes)
{
    struct thread *thread = &thread_state;
    if (fd < 0 || !is_on())
        return;
    uint64_t tick = tick_now();
    if (!count_served_at(tick, operation, kind, fd, bytes))
        call_served_late(tick, operation, kind, fd, bytes);
    if (thread->lane == NULL)
        return;
    pace_served(thread, tick);
    const struct stream *stream = stream_of(thread->lane, fd);
    if (!LIKELY(descriptor_is_trusted(stream, fd)) || !LIKELY(lane_has_room(stream_cell(thread->lane, stream))))
        prepare_served(thread, fd);
}

const FILE *call_noted_stream;

void call_stream_touched(const struct call *call, FILE *stream, struct stream_state before, bool is_error)
{
    call_noted_stream = NULL;
    int fd = stream->_fileno;
    if (fd < 0)
        return;
    struct stream_state after = stream_state(stream);
    if (is_asleep() && before.pending == 0 && after.pending == 0 && asleep_may_put_off(call->operation) &&
        asleep_puts_off(call, asleep_look(fd), is_error))
        return;
    if (!is_on())
        return;
    struct effect effect = touch(call, is_error);
    effect.kernel_write = at_least_0(before.pending - after.pending);
    /* A seek beyond the buffer fills it anew, which may bring the kernel's position back to where it was. */
    if (call->operation == OP_fseek && (after.kernel_position != before.kernel_position || after.filled != before.filled))
        effect.kernel_read = at_least_0(after.filled);
    descriptor word = descriptor_of(fd);
    count(call, descriptor_mount(word), &effect);
    if (call->operation == OP_fseek)
        call_reposition(call, fd, word, -1);
}

void call_streams_flushed(const struct call *call, int64_t pending)
{
    struct effect effect = touch(call, false);
    effect.kernel_write = at_least_0(pending);
    if (!is_asleep() || pending != 0 || !asleep_puts_off(call, 0, false))
        count(call, MOUNT_OTHER, &effect);
}

void call_stream_closed(const struct call *call, descriptor word, struct stream_state before, bool is_error)
{
    call_noted_stream = NULL;
    struct effect effect = touch(call, is_error);
    effect.kernel_write = at_least_0(before.pending);
    if (word != 0 && (!is_asleep() || before.pending != 0 || !asleep_puts_off(call, word, is_error)))
        count(call, mount_of_word(word), &effect);
}

/* It is on the file that it opens. What the stream still held for the one before is no write of this call, but the kernel counts it now. */
void call_stream_reopened(const struct call *call, int fd, struct stream_state before, const char *path)
{
    call_noted_stream = NULL;
    if (!is_on())
        return;
    struct effect effect = touch(call, fd < 0);
    effect.kernel_write = at_least_0(before.pending);
    uint32_t mount = fd >= 0 ? descriptor_mount(descriptor_opened(fd, AT_FDCWD, path)) : name_mount(AT_FDCWD, path, true);
    count(call, mount, &effect);
}

void call_stream_read(const struct call *call, FILE *stream, struct stream_state before, int64_t bytes)
{
    call_noted_stream = NULL;
    stream_moved(call, KIND_read, stream, before, bytes);
}

void call_stream_wrote(const struct call *call, FILE *stream, struct stream_state before, int64_t bytes)
{
    call_noted_stream = NULL;
    stream_moved(call, KIND_write, stream, before, bytes);
}
