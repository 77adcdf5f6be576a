/* Calls of stdio on streams: what they moved to and from the kernel underneath, and calls that a stream's buffer served. As call.h says, for any
 * thread at any time; a call takes the fast path if it can. */
#include "call_count.h"

#include "name.h"
#include "raw.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

/* A character that lies in a buffer is taken for one byte: what it has more is counted when it comes or goes, so that sums are right. */
struct stream_state unusual_stream_state(struct stream_state state, const FILE *stream)
{
    bool is_in_backup = (stream->_flags & STREAM_IN_BACKUP) != 0;
    if (stream->_mode > 0) {
        const struct _IO_wide_data *wide = stream->_wide_data;
        state.readable += wide->read_end - wide->read_ptr + (is_in_backup ? wide->save_end - wide->save_base : 0);
        state.pending += wide->write_ptr > wide->write_base ? wide->write_ptr - wide->write_base : 0;
    } else if (is_in_backup) {
        state.filled = stream->_IO_save_end - stream->_IO_buf_base;
        state.readable += stream->_IO_save_end - stream->_IO_save_base;
    }
    return state;
}

/* Bytes taken out of the buffer, which was filled anew at most once in between. */
static int64_t consumed(struct stream_state before, struct stream_state after)
{
    bool is_refilled = after.readable > before.readable || after.filled != before.filled;
    return is_refilled ? before.readable + after.filled - after.readable : before.readable - after.readable;
}

/* What libc threw away when it read up to a position beyond the file's end: from the block's begin, where the buffer's next fill would start. */
static int64_t thrown_away(const FILE *stream, int64_t position)
{
    int64_t room = stream->_IO_buf_end - stream->_IO_buf_base, begin = position & -room;
    struct stat status;
    if ((stream->_flags & STREAM_UNREADABLE) != 0 || room <= 0 || position == begin || position - begin > room ||
        syscall(SYS_fstat, stream->_fileno, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size >= position)
        return 0;
    return status.st_size - begin;
}

/* Bytes that a seek has read. Where it goes within the buffer, libc keeps what that holds, and at least one byte of it lies ahead. Anywhere else it
 * fills the buffer anew, which may hold as much as before, up to the same position, afterwards: at the file's end. What is not yet written goes
 * out first, and the buffer's contents with it. From a position that it does not know libc moves on without a read. */
static uint64_t sought(const FILE *stream, struct stream_state before, struct stream_state after, int whence)
{
    bool is_kept = after.readable > 0 && before.pending == 0 && after.filled == before.filled && after.kernel_position == before.kernel_position;
    bool is_position_known = before.kernel_position >= 0 && (before.pending == 0 || (stream->_flags & STREAM_APPENDS) == 0);
    if (is_kept || after.kernel_position < 0)
        return 0;
    if (after.filled == 0)
        return whence == SEEK_CUR && !is_position_known ? 0 : at_least_0(thrown_away(stream, after.kernel_position));
    return at_least_0(after.filled);
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

START_DATA const FILE *call_noted_stream; /* each child of fork writes it */

/* `whence`: of a seek that came to an end, else NO_SEEK. */
enum { NO_SEEK = -1 };

static void stream_touched(const struct call *call, FILE *stream, struct stream_state before, int whence, bool is_error)
{
    call_noted_stream = NULL;
    int fd = stream->_fileno;
    if (fd < 0)
        return;
    struct stream_state after = stream_state(stream);
    if (is_unstarted() && before.pending == 0 && after.pending == 0 && lazy_start_may_defer(call->operation) &&
        lazy_start_defers(call, lazy_start_look(fd), is_error))
        return;
    if (!is_on())
        return;
    struct effect effect = touch(call, is_error);
    effect.kernel_write = at_least_0(before.pending - after.pending);
    if (whence != NO_SEEK)
        effect.kernel_read = sought(stream, before, after, whence);
    descriptor word = descriptor_of(fd);
    count(call, descriptor_mount(word), &effect);
    if (call->operation == OP_fseek)
        call_reposition(call, fd, word, -1);
}

void call_stream_touched(const struct call *call, FILE *stream, struct stream_state before, bool is_error)
{
    stream_touched(call, stream, before, NO_SEEK, is_error);
}

void call_stream_sought(const struct call *call, FILE *stream, struct stream_state before, int whence, bool is_error)
{
    stream_touched(call, stream, before, is_error ? NO_SEEK : whence, is_error);
}

void call_streams_flushed(const struct call *call, int64_t pending)
{
    struct effect effect = touch(call, false);
    effect.kernel_write = at_least_0(pending);
    if (!is_unstarted() || pending != 0 || !lazy_start_defers(call, 0, false))
        count(call, MOUNT_OTHER, &effect);
}

/* What libc can write of a stream's last bytes, as far as that can be told beforehand: nothing where nobody reads (a pipe, a terminal) or into a
 * device that is always full, and into a file no more than the limit of file sizes leaves. */
static uint64_t writable(int fd, const struct stat *status, uint64_t pending)
{
    if (S_ISREG(status->st_mode)) {
        struct rlimit limit;
        if (raw_result(syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit)) < 0 || limit.rlim_cur == RLIM_INFINITY)
            return pending;
        bool is_appended = (syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) != 0;
        uint64_t at = at_least_0(is_appended ? status->st_size : syscall(SYS_lseek, fd, 0, SEEK_CUR));
        uint64_t room = limit.rlim_cur > at ? limit.rlim_cur - at : 0;
        return pending < room ? pending : room;
    }
    const struct timespec at_once = { 0 };
    struct pollfd asked = { .fd = fd, .events = POLLOUT };
    bool is_full = S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 7);
    bool has_end = raw_result(syscall(SYS_ppoll, &asked, 1, &at_once, NULL, 0)) == 1 && (asked.revents & (POLLERR | POLLHUP)) != 0;
    return is_full || has_end ? 0 : pending;
}

/* What characters take beyond a byte each has been counted for the stream as they came, and not yet by the kernel. */
void call_stream_left(const FILE *stream, uint64_t more)
{
    struct stat status;
    uint64_t pending = at_least_0(stream_state(stream).pending);
    bool is_open = pending > 0 && stream->_fileno >= 0 && is_on() && syscall(SYS_fstat, stream->_fileno, &status) == 0;
    uint64_t written = is_open ? writable(stream->_fileno, &status, pending) : 0;
    if (written > 0)
        engine_will_write(descriptor_mount(descriptor_of(stream->_fileno)), written, written == pending ? more : 0);
}

void call_stream_closed(const struct call *call, descriptor word, struct stream_state before, bool is_error)
{
    call_noted_stream = NULL;
    struct effect effect = touch(call, is_error);
    effect.kernel_write = at_least_0(before.pending);
    if (word != 0 && (!is_unstarted() || before.pending != 0 || !lazy_start_defers(call, word, is_error)))
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
    uint32_t mount = fd >= 0 ? descriptor_mount(descriptor_opened(fd, AT_FDCWD, path)) : name_mount(call, AT_FDCWD, path, true);
    count(call, mount, &effect);
}

void call_stream_read(const struct call *call, FILE *stream, struct stream_state before, int64_t bytes)
{
    call_noted_stream = NULL;
    stream_moved(call, KIND_read, stream, before, bytes);
}

/* The kernel's position; what libc knows of it is -1 before a stream's first seek. */
static int64_t position_of(const FILE *stream, int64_t known)
{
    if (known >= 0 || stream->_fileno < 0)
        return known;
    int saved_errno = errno_now();
    int64_t position = syscall(SYS_lseek, stream->_fileno, 0, SEEK_CUR);
    errno_put(saved_errno);
    return position;
}

struct stream_state call_state_before_items(const FILE *stream, size_t size)
{
    struct stream_state state = stream_state(stream);
    if (size >= LEAST_LARGE_ITEM)
        state.kernel_position = position_of(stream, state.kernel_position);
    return state;
}

/* The last item may have come in part: its bytes are read too, and only the kernel's position tells how many they are. */
static int64_t read_in_items(FILE *stream, struct stream_state before, size_t size, int64_t whole)
{
    if (before.kernel_position < 0 || before.pending > 0)
        return whole;
    struct stream_state after = stream_state(stream);
    int64_t bytes = position_of(stream, after.kernel_position) - before.kernel_position + before.readable - after.readable;
    return bytes > whole && bytes - whole < (int64_t)size ? bytes : whole;
}

void call_stream_read_items(const struct call *call, FILE *stream, struct stream_state before, size_t size, size_t items, size_t asked)
{
    call_noted_stream = NULL;
    int64_t whole = (int64_t)(items * size);
    bool is_in_part = items < asked && size > 1 && stream->_fileno >= 0;
    stream_moved(call, KIND_read, stream, before, is_in_part ? read_in_items(stream, before, size, whole) : whole);
}

void call_stream_wrote(const struct call *call, FILE *stream, struct stream_state before, int64_t bytes)
{
    call_noted_stream = NULL;
    stream_moved(call, KIND_write, stream, before, bytes);
}
