/* Whether a stream's buffer will serve a call, so that no I/O happens in it. Looked at before the call, by glibc's public layout of streams; whatever
 * is unusual about a stream (wide characters, line by line, no buffer, in another thread's hands) is not served. Where other threads could empty
 * or fill the buffer between the look and the call, the stream's lock is held across both: it is tried, not waited for, and kept only if the call
 * cannot block. Of calls that can, see struct turn. */
#ifndef SLICEWISE_STDIO_BUFFER_H
#define SLICEWISE_STDIO_BUFFER_H

#include "engine.h"
#include "fast_path.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* The part of a call that is seldom needed, out of the way of the rest. */
#define FULL __attribute__((noinline))

/* glibc's flags of a stream. */
enum { STREAM_UNBUFFERED = 0x2, STREAM_LINE_BUFFERED = 0x200, STREAM_IS_CALLERS = 0x8000 /* FSETLOCKING_BYCALLER */ };

/* Where the libc says whether the process has one thread (glibc 2.32 and later); else a zero. */
extern const char *is_single_threaded_at HIDDEN;

/* What a wide character takes in the file: in UTF-8, or one byte where the locale has single bytes. */
INLINE int64_t wide_bytes(wint_t c)
{
    return MB_CUR_MAX == 1 || c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* Whether no other thread can come between a look at the stream and the call. */
INLINE bool is_alone(void)
{
    return *is_single_threaded_at != 0;
}

/* Functions of ours that a lone thread's calls need not lock the stream for, and libc's own that do the same without. */
#define LONE_FUNCTIONS(X) \
    X(fgetc, getc_unlocked) \
    X(fputc, putc_unlocked) \
    X(fgets, fgets_unlocked) \
    X(__fgets_chk, __fgets_unlocked_chk) \
    X(fputs, fwrite_unlocked) /* by a text's length, which is known by then */ \
    X(fread, fread_unlocked) \
    X(__fread_chk, __fread_unlocked_chk) \
    X(fwrite, fwrite_unlocked) \
    X(fgetwc, fgetwc_unlocked) \
    X(fputwc, fputwc_unlocked)
enum {
#define LONE_FUNCTION(name, unlocked) LONE_##name,
    LONE_FUNCTIONS(LONE_FUNCTION)
#undef LONE_FUNCTION
        LONES
};
extern void *lone_functions[LONES] HIDDEN;

/* The next function after ours, in the body of INTERPOSE(name) where is_lone(). It locks nothing, unless it is not libc's. */
#define LONE(name) ((__typeof__(real_##name))lone_functions[LONE_##name])

/* is_alone(), and if so those functions are found from then on. */
bool is_alone_and_ready(void);

/* Where is_alone() is looked at once those functions have been found; until then a zero. */
extern const char *is_lone_at HIDDEN;
INLINE bool is_lone(void)
{
    return *is_lone_at != 0;
}

/* Whether so many bytes (none: no) can be taken out of the buffer. */
INLINE bool is_readable(const FILE *stream, size_t bytes)
{
    return bytes - 1 < (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}

/* The bytes of so many items; 0 where the number is too large for that. What overflows twice over libc multiplies to the same. */
INLINE size_t bytes_of_items(size_t size, size_t count)
{
    long bytes;
    return !__builtin_smull_overflow((long)size, (long)count, &bytes) ? (size_t)bytes : 0;
}

/* Whether one byte finds room in the buffer. */
INLINE bool is_byte_writable(const FILE *stream)
{
    return stream->_IO_write_ptr < stream->_IO_write_end;
}

/* Whether so many bytes (none: no) do, and nothing makes the buffer be emptied. */
INLINE bool is_writable(const FILE *stream, size_t bytes)
{
    return (stream->_flags & (STREAM_UNBUFFERED | STREAM_LINE_BUFFERED)) == 0 && stream->_mode <= 0 && is_byte_writable(stream) &&
           bytes - 1 < (size_t)(stream->_IO_write_end - stream->_IO_write_ptr);
}

/* The same of few bytes, in one comparison. */
INLINE bool is_little_writable(const FILE *stream, size_t bytes)
{
    return bytes - 1 < SIZE_BIN_0_END && (stream->_flags & (STREAM_UNBUFFERED | STREAM_LINE_BUFFERED)) == 0 && stream->_mode <= 0 &&
           (ptrdiff_t)(bytes - 1) < stream->_IO_write_end - stream->_IO_write_ptr;
}

INLINE bool is_little_readable(const FILE *stream, size_t bytes)
{
    return bytes - 1 < SIZE_BIN_0_END && (ptrdiff_t)(bytes - 1) < stream->_IO_read_end - stream->_IO_read_ptr;
}

/* Where the last line that lay whole in some stream's buffer ended. Nobody has to keep it true: where it lies in what a stream holds, and is
 * the end of a line, that stream holds a line. */
extern const char *line_end HIDDEN;

INLINE bool is_line_known(const FILE *stream, int delimiter)
{
    const char *end = __atomic_load_n(&line_end, __ATOMIC_RELAXED);
    return end >= stream->_IO_read_ptr && end < stream->_IO_read_end && *end == (char)delimiter;
}

/* Remembers one of those that a fill has brought. */
void look_for_line(const FILE *stream, int delimiter);

/* Counts a call that the buffer served, and is what it returned. */
#define SERVED_WITH(returned, operation, kind, fd, bytes) \
    (LIKELY(count_served(operation, kind, fd, bytes)) \
         ? (returned) \
         : (__typeof__(returned))(intptr_t)served_unusually((intptr_t)(returned), operation, kind, fd, bytes))
intptr_t served_unusually(intptr_t returned, enum operation operation, enum call_kind kind, int fd, uint64_t bytes);

/* The same where the clock was read when the call began, since only its end tells whether the buffer served it. */
#define SERVED_AT(tick, returned, operation, kind, fd, bytes) \
    (LIKELY(count_served_at(tick, operation, kind, fd, bytes)) \
         ? (returned) \
         : (__typeof__(returned))served_late(tick, (intptr_t)(returned), operation, kind, fd, bytes))
intptr_t served_late(uint64_t tick, intptr_t returned, enum operation operation, enum call_kind kind, int fd, uint64_t bytes);

/* A stream that other threads may use as well, held from a look before a call of libc, which waits for them, too, to one after it: what they move
 * between would be counted for both. A thread that is cancelled in the call lets it go, and so does one that jumps out of it. */
struct turn {
    struct _pthread_cleanup_buffer let_go;
    FILE *stream; /* NULL: nobody can come between, or libc's call would not wait */
};
void stream_take(struct turn *turn, FILE *stream);
void stream_give(struct turn *turn);

/* The body of a wrapper of a call on a stream that may wait: held, timed, and counted by call_stream_HOW(&call, stream, state, ...), where `result`
 * is what the function returned. `state`: the stream's before the call. */
#define STREAM_CALL_FROM(state, operation, stream, type, returned, how, ...) \
    struct call call = call_begin(OP_##operation); \
    struct turn turn; \
    stream_take(&turn, stream); \
    struct stream_state before = (state); \
    type result = (returned); \
    call_end(&call); \
    call_stream_##how(&call, stream, before, __VA_ARGS__); \
    stream_give(&turn); \
    call_close(&call); \
    return result
#define STREAM_CALL(operation, stream, type, returned, how, ...) \
    STREAM_CALL_FROM(stream_state(stream), operation, stream, type, returned, how, __VA_ARGS__)

/* A wrapper that is nothing else. */
#define STREAMED(operation, type, name, parameters, arguments, how, ...) \
    INTERPOSE(type, name, parameters) \
    { \
        STREAM_CALL(operation, stream, type, REAL(name) arguments, how, __VA_ARGS__); \
    }

/* Before it: the call, if `looked` says that the buffer serves it. */
#define IF_SERVED(looked, operation, kind, stream, type, returned, bytes) \
    do { \
        enum serving serving = (looked); \
        if (serving != NOT_SERVED) { \
            type result = (returned); \
            stream_served(OP_##operation, KIND_##kind, stream, serving, bytes); \
            return result; \
        } \
    } while (0)

/* A dialect of scanf: headers choose among their symbols, and so functions are named by dialect. `w`: of wide characters; the rest is the body of
 * the form with a stream and a va_list. */
#define SCANF(dialect, prefix, w, character, ...) \
    INTERPOSE_SYMBOL(int, dialect##_vf##w##scanf, prefix##vf##w##scanf, (FILE * stream, const character *format, va_list arguments)) \
    { \
        __VA_ARGS__; \
    } \
    INTERPOSE_SYMBOL(int, dialect##_f##w##scanf, prefix##f##w##scanf, (FILE * stream, const character *format, ...)) \
    { \
        FORWARD(format, OWN(dialect##_vf##w##scanf)(stream, format, arguments)); \
    } \
    INTERPOSE_SYMBOL(int, dialect##_##w##scanf, prefix##w##scanf, (const character *format, ...)) \
    { \
        FORWARD(format, OWN(dialect##_vf##w##scanf)(stdin, format, arguments)); \
    } \
    INTERPOSE_SYMBOL(int, dialect##_v##w##scanf, prefix##v##w##scanf, (const character *format, va_list arguments)) \
    { \
        return OWN(dialect##_vf##w##scanf)(stdin, format, arguments); \
    }

/* A look at what lies read ahead, and at the clock, before a call that tells only at its end whether the buffer served it. */
struct read_look {
    const char *begin, *base, *end;
    int64_t lies_by; /* what the buffer holds beside, while what was pushed back is read */
    int64_t filled_with; /* and what it was filled with then */
    uint64_t tick;
};

INLINE void look_at_reading(struct read_look *look, const FILE *stream)
{
    look->begin = stream->_IO_read_ptr;
    look->base = stream->_IO_buf_base;
    look->end = stream->_IO_read_end;
    look->lies_by = 0;
    if (__builtin_expect(stream->_flags & STREAM_IN_BACKUP, 0)) {
        look->lies_by = stream->_IO_save_end - stream->_IO_save_base;
        look->filled_with = stream->_IO_save_end - stream->_IO_buf_base;
    }
    look->tick = tick_now();
    /* In memory, one by one: registers that outlive a call cost more. */
    __asm__("" : "+m"(look->begin), "+m"(look->base), "+m"(look->end), "+m"(look->tick));
}

/* What stream_state would have said before a call on bytes. Such a call fails on a stream of wide characters, and leaves those alone. */
struct stream_state state_before(const FILE *stream, const struct read_look *look, int64_t pending);

/* What lies written in a stream of bytes. */
INLINE int64_t stream_pending(const FILE *stream)
{
    return stream->_IO_write_ptr - stream->_IO_write_base;
}

/* Whether formatted text, `put` bytes of it, went into the buffer and nothing out of it: its length is known only afterwards. */
INLINE bool is_taken(const FILE *stream, int64_t pending_before, int64_t put)
{
    return put >= 0 && stream_pending(stream) == pending_before + put;
}

/* The same for a stream that other threads may use as well. */
enum serving {
    NOT_SERVED,
    SERVED, /* no other thread can come between */
    SERVED_LOCKED, /* we hold the stream's lock */
    SERVED_UNCOUNTED /* a stream in memory moves nothing */
};
enum serving stream_holds(FILE *stream, size_t bytes);
enum serving stream_holds_line(FILE *stream, int delimiter, ptrdiff_t most);
enum serving stream_has_room(FILE *stream, size_t bytes);

/* After a call that was served: counts it, and gives the stream back. */
void stream_served(enum operation operation, enum call_kind kind, FILE *stream, enum serving serving, uint64_t bytes);

#endif
