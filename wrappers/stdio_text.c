/* stdio: characters, lines and formatted text. */
#include "interpose.h"
#include "stdio_buffer.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#undef getc
#undef putc
#undef getchar
#undef putchar

static FULL int full_fgetc(FILE *stream);

INTERPOSE(int, fgetc, (FILE *stream))
{
    if (LIKELY(is_lone() && is_readable(stream, 1) &&
               count_served(OP_fgetc, KIND_read, stream->_fileno, 1)))
        return LONE(fgetc)(stream);
    return full_fgetc(stream);
}

static int full_fgetc(FILE *stream)
{
    IF_SERVED(stream_holds(stream, 1), fgetc, read, stream, int, REAL(fgetc)(stream), 1);
    STREAM_CALL(fgetc, stream, int, REAL(fgetc)(stream), read, result != EOF);
}
SAME_AS(getc, fgetc);
SAME_AS(_IO_getc, fgetc);
SAME_AS(fgetc_unlocked, fgetc);
SAME_AS(getc_unlocked, fgetc);

INTERPOSE(int, getchar, (void))
{
    return OWN(fgetc)(stdin);
}
SAME_AS(getchar_unlocked, getchar);

/* What the inlined getc_unlocked calls when the buffer is empty. */
INTERPOSE(int, __uflow, (FILE *stream))
{
    struct stream_state before = stream_state(stream);
    struct call call = call_begin(OP_fgetc);
    int c = REAL(__uflow)(stream);
    call_end(&call);
    call_stream_read(&call, stream, before, c != EOF);
    call_close(&call);
    return c;
}

/* What fgets got: a long line fills the buffer more than once, so the buffer's state tells only where NUL bytes hide the line's end. */
static int64_t length_of(const char *got, int room, FILE *stream)
{
    if (got == NULL)
        return 0;
    size_t length = strlen(got);
    bool is_whole = length > 0 && (got[length - 1] == '\n' || length + 1 == (size_t)room || feof_unlocked(stream));
    return is_whole ? (int64_t)length : BY_STATE;
}

/* A line that lies in the buffer: how long it is the stream tells afterwards. */
#define GET_LINE(type, operation, stream, call) \
    do { \
        const char *begin = (stream)->_IO_read_ptr; \
        type got = (call); \
        return SERVED_WITH(got, operation, KIND_read, (stream)->_fileno, (uint64_t)((stream)->_IO_read_ptr - begin)); \
    } while (0)

/* `least`: the room that a line needs for libc to look at the stream; `...`: how the parameters are handed on. */
#define GETS(name, least, parameters, ...) \
    static FULL char *full_##name parameters; \
    INTERPOSE(char *, name, parameters) \
    { \
        if (LIKELY(room > 1 && is_lone() && (is_readable(stream, (size_t)room - 1) || is_line_known(stream, '\n')))) \
            GET_LINE(char *, OP_fgets, stream, LONE(name)(__VA_ARGS__)); \
        return full_##name(__VA_ARGS__); \
    } \
    static char *full_##name parameters \
    { \
        if (room < least) { \
            call_idled(OP_fgets); \
            return REAL(name)(__VA_ARGS__); \
        } \
        enum serving known = stream_holds_line(stream, '\n', room - 1); \
        const char *begin = stream->_IO_read_ptr; /* of a stream that is held */ \
        IF_SERVED(known, fgets, read, stream, char *, REAL(name)(__VA_ARGS__), \
                  (uint64_t)(stream->_IO_read_ptr - begin)); \
        STREAM_CALL(fgets, stream, char *, REAL(name)(__VA_ARGS__), read, (look_for_line(stream, '\n'), length_of(result, room, stream))); \
    }
GETS(fgets, 2, (char *line, int room, FILE *stream), line, room, stream)
SAME_AS(fgets_unlocked, fgets);
SAME_AS(_IO_fgets, fgets);
GETS(__fgets_chk, 1, (char *line, size_t size, int room, FILE *stream), line, size, room, stream)
SAME_AS(__fgets_unlocked_chk, __fgets_chk);

/* A long one, or none: there was no memory for it, or an error before. */
static FULL ssize_t got_long_line(FILE *stream, ssize_t got)
{
    return SERVED_WITH(got, OP_getline, KIND_read, stream->_fileno, got > 0 ? (uint64_t)got : 0);
}

/* `call`, if a whole line lies in the buffer. The stream is not looked at where libc would not do so. */
#define GET_DELIMITED(line, room, delimiter, stream, call) \
    do { \
        if (!LIKELY((line) != NULL) || !LIKELY((room) != NULL) || !LIKELY(is_lone()) || !LIKELY(is_line_known(stream, delimiter))) \
            return full_getdelim(line, room, delimiter, stream); \
        ssize_t got = (call); \
        if (!LIKELY((size_t)got <= SIZE_BIN_0_END)) \
            return got_long_line(stream, got); \
        return SERVED_WITH(got, OP_getline, KIND_read, (stream)->_fileno, (uint64_t)got); \
    } while (0)

static FULL ssize_t full_getdelim(char **line, size_t *room, int delimiter, FILE *stream);

INTERPOSE(ssize_t, getdelim, (char **line, size_t *room, int delimiter, FILE *stream))
{
    GET_DELIMITED(line, room, delimiter, stream, NEXT(getdelim)(line, room, delimiter, stream));
}

static ssize_t full_getdelim(char **line, size_t *room, int delimiter, FILE *stream)
{
    if (line == NULL || room == NULL) {
        call_idled(OP_getline);
        return REAL(getdelim)(line, room, delimiter, stream);
    }
    enum serving serving = stream_holds_line(stream, delimiter, SSIZE_MAX);
    if (serving != NOT_SERVED) {
        const char *begin = stream->_IO_read_ptr;
        ssize_t length = REAL(getdelim)(line, room, delimiter, stream);
        stream_served(OP_getline, KIND_read, stream, serving, (uint64_t)(stream->_IO_read_ptr - begin));
        return length;
    }
    STREAM_CALL(getline, stream, ssize_t, REAL(getdelim)(line, room, delimiter, stream), read, (look_for_line(stream, delimiter), result > 0 ? result : 0));
}
SAME_AS(__getdelim, getdelim);

INTERPOSE(ssize_t, getline, (char **line, size_t *room, FILE *stream))
{
    GET_DELIMITED(line, room, '\n', stream, NEXT(getline)(line, room, stream));
}

/* scanf may fill the buffer more than once, or leave it empty at the file's end: then its state does not tell what was taken, and the kernel's
 * position does. A program of one thread is asked for it once a fill, others for each call. */
struct scan {
    int64_t position; /* -1: there is none */
    struct read_look look;
};

static int64_t noted_position;

static int64_t kernel_position(FILE *stream)
{
    int kept = errno_now();
    int64_t position = syscall(SYS_lseek, stream->_fileno, 0, SEEK_CUR);
    errno_put(kept);
    return position;
}

static FULL int64_t note_position(FILE *stream)
{
    noted_position = kernel_position(stream);
    call_noted_stream = is_alone() ? stream : NULL;
    return noted_position;
}

INLINE void scan_begin(struct scan *scan, FILE *stream)
{
    scan->position = LIKELY(call_noted_stream == stream && is_alone() && is_readable(stream, 1)) ? noted_position : note_position(stream);
    look_at_reading(&scan->look, stream);
}

/* Whether the call can have taken so many bytes: it looks at each of them, and at no more than four a nanosecond. */
INLINE bool has_time_for(const struct scan *scan, int64_t bytes)
{
    return (int64_t)ticks_to_ns(tick_now() - scan->look.tick) >= bytes / 4;
}

static int64_t scanned(const struct scan *scan, int64_t readable, FILE *stream)
{
    int64_t position = scan->position < 0 ? -1 : kernel_position(stream);
    if (position <= scan->position) /* nothing was fetched, or it has no position */
        return BY_STATE;
    struct stream_state after = stream_state(stream);
    int64_t fetched = position - scan->position;
    if (!has_time_for(scan, fetched - after.filled)) /* somebody else moved the position meanwhile */
        return BY_STATE;
    return fetched + readable - after.readable;
}

static FULL int scan_by_io(const struct scan *scan, FILE *stream, int items)
{
    struct call call = { .operation = OP_fscanf, .start_tick = scan->look.tick };
    call_end(&call);
    struct stream_state before = state_before(stream, &scan->look, 0);
    call_stream_read(&call, stream, before, scanned(scan, before.readable, stream));
    call_close(&call);
    return items;
}

/* The buffer served it if it stands as it stood, and was not filled with as much again meanwhile: of that the call would have taken all. */
INLINE bool is_scanned_in_place(const struct scan *scan, FILE *stream)
{
    const struct read_look *look = &scan->look;
    return LIKELY(stream->_IO_read_end == look->end && stream->_IO_buf_base == look->base && stream->_IO_read_ptr >= look->begin) &&
           (LIKELY(!has_time_for(scan, look->end - look->base)) || scan->position < 0 || kernel_position(stream) == scan->position);
}

#define SCAN(stream, call) \
    struct scan scan; \
    scan_begin(&scan, stream); \
    int items = (call); \
    if (!is_scanned_in_place(&scan, stream)) \
        return scan_by_io(&scan, stream, items); \
    return SERVED_AT(scan.look.tick, items, OP_fscanf, KIND_read, (stream)->_fileno, (uint64_t)((stream)->_IO_read_ptr - scan.look.begin))

SCANF(old, , , char, SCAN(stream, NEXT(old_vfscanf)(stream, format, arguments)))
SAME_AS(__vfscanf, old_vfscanf);
SCANF(isoc99, __isoc99_, , char, SCAN(stream, NEXT(isoc99_vfscanf)(stream, format, arguments)))
SCANF(isoc23, __isoc23_, , char, SCAN(stream, NEXT(isoc23_vfscanf)(stream, format, arguments)))

static FULL int full_fputc(int c, FILE *stream);

INTERPOSE(int, fputc, (int c, FILE *stream))
{
    if (LIKELY(is_lone() && is_byte_writable(stream) &&
               count_served(OP_fputc, KIND_write, stream->_fileno, 1)))
        return LONE(fputc)(c, stream);
    return full_fputc(c, stream);
}

static int full_fputc(int c, FILE *stream)
{
    IF_SERVED(stream_has_room(stream, 1), fputc, write, stream, int, REAL(fputc)(c, stream), 1);
    STREAM_CALL(fputc, stream, int, REAL(fputc)(c, stream), wrote, result != EOF ? 1 : -1);
}
SAME_AS(putc, fputc);
SAME_AS(_IO_putc, fputc);
SAME_AS(fputc_unlocked, fputc);
SAME_AS(putc_unlocked, fputc);

INTERPOSE(int, putchar, (int c))
{
    return OWN(fputc)(c, stdout);
}
SAME_AS(putchar_unlocked, putchar);

/* What the inlined putc_unlocked calls when the buffer is full. */
INTERPOSE(int, __overflow, (FILE *stream, int c))
{
    struct stream_state before = stream_state(stream);
    struct call call = call_begin(OP_fputc);
    int put = REAL(__overflow)(stream, c);
    call_end(&call);
    call_stream_wrote(&call, stream, before, put != EOF ? 1 : -1);
    call_close(&call);
    return put;
}

static FULL int full_fputs(const char *text, FILE *stream);

enum { PUT = 1 }; /* what libc's fputs returns */

INTERPOSE(int, fputs, (const char *text, FILE *stream))
{
    size_t length = strlen(text);
    if (LIKELY(is_lone() && is_little_writable(stream, length) &&
               count_served(OP_fputs, KIND_write, stream->_fileno, length))) {
        void *next = lone_functions[LONE_fputs];
        if (!LIKELY(next != (void *)real_fputs))
            return NEXT(fputs)(text, stream);
        ((__typeof__(fwrite) *)next)(text, 1, length, stream);
        return PUT;
    }
    return full_fputs(text, stream);
}

static int full_fputs(const char *text, FILE *stream)
{
    size_t length = strlen(text);
    IF_SERVED(stream_has_room(stream, length), fputs, write, stream, int, REAL(fputs)(text, stream), length);
    STREAM_CALL(fputs, stream, int, REAL(fputs)(text, stream), wrote, result >= 0 ? (int64_t)strlen(text) : -1);
}
SAME_AS(fputs_unlocked, fputs);
SAME_AS(_IO_fputs, fputs);

static FULL int full_puts(const char *text);

INTERPOSE(int, puts, (const char *text))
{
    FILE *stream = stdout;
    size_t length = strlen(text) + 1;
    if (LIKELY(is_lone() && is_little_writable(stream, length) &&
               count_served(OP_fputs, KIND_write, stream->_fileno, length)))
        return NEXT(puts)(text);
    return full_puts(text);
}

static int full_puts(const char *text)
{
    FILE *stream = stdout;
    size_t length = strlen(text) + 1;
    IF_SERVED(stream_has_room(stream, length), fputs, write, stream, int, REAL(puts)(text), length);
    STREAM_CALL(fputs, stdout, int, REAL(puts)(text), wrote, result >= 0 ? (int64_t)strlen(text) + 1 : -1);
}
SAME_AS(_IO_puts, puts);

/* `text: what errno means`, and a newline. */
INTERPOSE(void, perror, (const char *text))
{
    struct stream_state before = stream_state(stderr);
    int error = errno_now();
    char room[256];
    struct call call = call_begin(OP_perror);
    REAL(perror)(text);
    call_end(&call);
    size_t prefix = text != NULL && text[0] != '\0' ? strlen(text) + 2 : 0;
    call_stream_wrote(&call, stderr, before, (int64_t)(prefix + strlen(strerror_r(error, room, sizeof room)) + 1));
    call_close(&call);
}

static FULL int put_text_by_io(enum operation operation, FILE *stream, int64_t pending, uint64_t tick, int put)
{
    struct stream_state before = state_before(stream, &(struct read_look){ 0 }, pending);
    struct call call = { .operation = operation, .start_tick = tick };
    call_end(&call);
    call_stream_wrote(&call, stream, before, put);
    call_close(&call);
    return put;
}

/* Formatted text tells its length only afterwards, and so whether the buffer served it. `tick`: when it began. */
INLINE int put_text(enum operation operation, FILE *stream, int64_t pending, uint64_t tick, int put)
{
    if (!LIKELY(is_taken(stream, pending, put)))
        return put_text_by_io(operation, stream, pending, tick, put);
    return SERVED_AT(tick, put, operation, KIND_write, stream->_fileno, (uint64_t)put);
}

/* The same where other threads may use the stream as well. */
#define FULL_TEXT(name, parameters, ...) \
    static FULL int full_##name parameters \
    { \
        struct turn turn; \
        uint64_t tick = tick_now(); \
        stream_take(&turn, stream); \
        int64_t pending = stream_pending(stream); \
        int put = put_text(OP_fprintf, stream, pending, tick, REAL(name)(stream, __VA_ARGS__)); \
        stream_give(&turn); \
        return put; \
    }

/* The bodies of the forms with va_list and with `...`. */
#define PUT_TEXT(real, full, stream, ...) \
    if (!LIKELY(is_lone())) \
        return full(stream, __VA_ARGS__); \
    int64_t pending = stream_pending(stream); \
    uint64_t tick = tick_now(); \
    int put = real(stream, __VA_ARGS__); \
    return put_text(OP_fprintf, stream, pending, tick, put)
#define FORWARD_TEXT(real, full, stream, ...) \
    va_list arguments; \
    va_start(arguments, format); \
    if (!LIKELY(is_lone())) { \
        int put = full(stream, __VA_ARGS__); \
        va_end(arguments); \
        return put; \
    } \
    int64_t pending = stream_pending(stream); \
    uint64_t tick = tick_now(); \
    int put = real(stream, __VA_ARGS__); \
    va_end(arguments); \
    return put_text(OP_fprintf, stream, pending, tick, put)

static FULL int full_vfprintf(FILE *stream, const char *format, va_list arguments);

INTERPOSE(int, vfprintf, (FILE *stream, const char *format, va_list arguments))
{
    PUT_TEXT(NEXT(vfprintf), full_vfprintf, stream, format, arguments);
}
FULL_TEXT(vfprintf, (FILE *stream, const char *format, va_list arguments), format, arguments)
SAME_AS(_IO_vfprintf, vfprintf);

static FULL int full___vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments);

INTERPOSE(int, __vfprintf_chk, (FILE *stream, int flag, const char *format, va_list arguments))
{
    PUT_TEXT(NEXT(__vfprintf_chk), full___vfprintf_chk, stream, flag, format, arguments);
}
FULL_TEXT(__vfprintf_chk, (FILE *stream, int flag, const char *format, va_list arguments), flag, format, arguments)

INTERPOSE(int, fprintf, (FILE *stream, const char *format, ...))
{
    FORWARD_TEXT(REAL(vfprintf), full_vfprintf, stream, format, arguments);
}
SAME_AS(_IO_fprintf, fprintf);

INTERPOSE(int, printf, (const char *format, ...))
{
    FORWARD_TEXT(REAL(vfprintf), full_vfprintf, stdout, format, arguments);
}
SAME_AS(_IO_printf, printf);

INTERPOSE(int, vprintf, (const char *format, va_list arguments))
{
    PUT_TEXT(REAL(vfprintf), full_vfprintf, stdout, format, arguments);
}

INTERPOSE(int, __fprintf_chk, (FILE *stream, int flag, const char *format, ...))
{
    FORWARD_TEXT(REAL(__vfprintf_chk), full___vfprintf_chk, stream, flag, format, arguments);
}

INTERPOSE(int, __printf_chk, (int flag, const char *format, ...))
{
    FORWARD_TEXT(REAL(__vfprintf_chk), full___vfprintf_chk, stdout, flag, format, arguments);
}

INTERPOSE(int, __vprintf_chk, (int flag, const char *format, va_list arguments))
{
    PUT_TEXT(REAL(__vfprintf_chk), full___vfprintf_chk, stdout, flag, format, arguments);
}
