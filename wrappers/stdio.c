/* stdio: opening, closing, moving positions, and reads and writes of known sizes. */
#include "environment.h"
#include "interpose.h"
#include "shell.h"
#include "stdio_buffer.h"

#include <alloca.h>
#include <stdarg.h>
#include <string.h>

#undef getc
#undef putc

COUNTED(fopen, FILE *, fopen, (const char *path, const char *mode), (path, mode), opened, result != NULL ? result->_fileno : -1, AT_FDCWD, path)
SAME_AS(fopen64, fopen);
SAME_AS(_IO_fopen, fopen);
COUNTED(fdopen, FILE *, fdopen, (int fd, const char *mode), (fd, mode), touched, fd, result == NULL)
SAME_AS(_IO_fdopen, fdopen);

INTERPOSE(FILE *, freopen, (const char *path, const char *mode, FILE *stream))
{
    struct stream_state before = stream_state(stream);
    if (descriptor_release(stream->_fileno) == 0) /* a stream in memory holds nothing for a file */
        before.pending = 0;
    struct call call = call_begin(OP_freopen);
    FILE *reopened = REAL(freopen)(path, mode, stream);
    call_end(&call);
    call_stream_reopened(&call, reopened != NULL ? reopened->_fileno : -1, before, path);
    call_close(&call);
    return reopened;
}
SAME_AS(freopen64, freopen);
COUNTED(tmpfile, FILE *, tmpfile, (void), (), opened, result != NULL ? result->_fileno : -1, AT_FDCWD, P_tmpdir)
SAME_AS(tmpfile64, tmpfile);

struct popen {
    FILE *(*function)(const char *command, const char *mode);
    const char *command, *mode;
    FILE *stream;
};

static void make_popen(void *call)
{
    struct popen *popen = call;
    popen->stream = popen->function(popen->command, popen->mode);
}

INTERPOSE(FILE *, popen, (const char *command, const char *mode))
{
    const int errno_before = errno_now();
    char *const *own = environ, *const *carried = CARRIED(own, REASON_unknown);
    const char *made = environment_command(carried, command);
    CARRIED_END(own, carried);
    engine_before_child();
    struct call call = call_begin(OP_popen);
    struct popen popen = { REAL(popen), made, mode, NULL };
    make_popen(&popen);
    call_end(&call);
    environment_command_end(made, command);
    enum reason reason = engine_spawns("/bin/sh", environ);
    if (popen.stream == NULL) { /* libc does not say why */
        popen.command = command;
        errno_put(errno_before);
        if (shell_again(command, make_popen, &popen)) {
            call_end(&call);
            reason = REASON_no_room;
        }
    }
    FILE *stream = popen.stream;
    if (stream != NULL)
        engine_spawned(0, "/bin/sh", reason);
    call_opened(&call, stream != NULL ? stream->_fileno : -1, -1, NULL);
    call_close(&call);
    return stream;
}
SAME_AS(_IO_popen, popen);

/* Its time is the command's as well: on a pipe, which is no file's. */
INTERPOSE(int, pclose, (FILE *stream))
{
    struct stream_state before = stream_state(stream);
    descriptor closed = descriptor_release(stream->_fileno);
    struct call call = call_begin(OP_pclose);
    int status = REAL(pclose)(stream);
    call_end(&call);
    call_stream_closed(&call, closed, before, status == -1);
    call_close(&call);
    return status;
}

/* State and descriptor are taken before: afterwards the stream is no more. */
INTERPOSE(int, fclose, (FILE *stream))
{
    struct stream_state before = stream_state(stream);
    descriptor closed = descriptor_release(stream->_fileno);
    struct call call = call_begin(OP_fclose);
    int failed = REAL(fclose)(stream);
    call_end(&call);
    call_stream_closed(&call, closed, before, failed != 0);
    call_close(&call);
    return failed;
}
SAME_AS(_IO_fclose, fclose);

/* fflush(NULL) hands on what all streams hold. The list of streams may be walked while no other thread can change it. */
extern FILE *_IO_list_all __attribute__((weak)); /* other libcs have none, and nor do those below that are weak */

static int64_t pending_in_all_streams(void)
{
    int64_t pending = 0;
    if (*is_single_threaded_at == 0)
        return 0;
    for (FILE *stream = &_IO_list_all != NULL ? _IO_list_all : NULL; stream != NULL; stream = stream->_chain)
        if (stream->_fileno >= 0)
            pending += stream_state(stream).pending;
    return pending;
}

/* libc's own lock of that list. Its flush at the end takes it as well, so that nobody waits here who would not wait there. */
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));

/* What libc will have written of a stream once its wide characters are bytes, beyond one for each. */
static uint64_t more_than_characters(const FILE *stream)
{
    uint64_t more = 0;
    if (stream->_mode > 0)
        for (const wchar_t *c = stream->_wide_data->write_base; c < stream->_wide_data->write_ptr; c++)
            more += (uint64_t)wide_bytes((wint_t)*c) - 1;
    return more;
}

/* libc empties its streams after the last handler of exit, which counts. A forked child holds what its parent did, and hands that on as well if it
 * ends by exit. Other threads may still change a stream while it is looked at, so that its characters are not. */
static void count_what_is_left(void *unused)
{
    (void)unused;
    bool alone = *is_single_threaded_at != 0;
    if (!alone)
        _IO_list_lock();
    for (const FILE *stream = _IO_list_all; stream != NULL; stream = stream->_chain)
        call_stream_left(stream, alone ? more_than_characters(stream) : 0);
    if (!alone)
        _IO_list_unlock();
}

int __cxa_atexit(void (*function)(void *), void *argument, void *object);

/* After the engine's own constructor, so that this handler runs just before the engine's. */
__attribute__((constructor)) static void begin(void)
{
    if (&_IO_list_all != NULL && _IO_list_lock != NULL && _IO_list_unlock != NULL)
        __cxa_atexit(count_what_is_left, NULL, NULL);
}

INTERPOSE(int, fflush, (FILE *stream))
{
    struct stream_state before = stream != NULL ? stream_state(stream) : (struct stream_state){ .pending = pending_in_all_streams() };
    struct call call = call_begin(OP_fflush);
    int failed = REAL(fflush)(stream);
    call_end(&call);
    if (stream != NULL)
        call_stream_touched(&call, stream, before, failed != 0);
    else
        call_streams_flushed(&call, failed == 0 ? before.pending : 0);
    call_close(&call);
    return failed;
}
SAME_AS(fflush_unlocked, fflush);
SAME_AS(_IO_fflush, fflush);

/* It closes nothing, whatever its name: it hands on what all streams hold. */
INTERPOSE(int, fcloseall, (void))
{
    int64_t pending = pending_in_all_streams();
    struct call call = call_begin(OP_fflush);
    int failed = REAL(fcloseall)();
    call_end(&call);
    call_streams_flushed(&call, failed == 0 ? pending : 0);
    call_close(&call);
    return failed;
}

STREAMED(fseek, int, fseek, (FILE *stream, long offset, int whence), (stream, offset, whence), sought, whence, result != 0)
SAME_AS(fseeko, fseek); /* off_t is long wherever we build */
SAME_AS(fseeko64, fseek);

INTERPOSE(void, rewind, (FILE *stream))
{
    struct call call = call_begin(OP_fseek);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    REAL(rewind)(stream);
    call_end(&call);
    call_stream_sought(&call, stream, before, SEEK_SET, false);
    stream_give(&turn);
    call_close(&call);
}

STREAMED(fseek, int, fsetpos, (FILE *stream, const fpos_t *position), (stream, position), sought, SEEK_SET, result != 0)
SAME_AS(fsetpos64, fsetpos);
SAME_AS(_IO_fsetpos, fsetpos);
SAME_AS(_IO_fsetpos64, fsetpos);

STREAMED(ftell, long, ftell, (FILE *stream), (stream), touched, result < 0)
SAME_AS(ftello, ftell);
SAME_AS(ftello64, ftell);
SAME_AS(_IO_ftell, ftell);

STREAMED(ftell, int, fgetpos, (FILE *stream, fpos_t *position), (stream, position), touched, result != 0)
SAME_AS(fgetpos64, fgetpos);
SAME_AS(_IO_fgetpos, fgetpos);
SAME_AS(_IO_fgetpos64, fgetpos);

/* `...`: how the parameters are handed on. */
#define READ_ITEMS(name, parameters, ...) \
    static FULL size_t full_##name parameters; \
    INTERPOSE(size_t, name, parameters) \
    { \
        size_t bytes = bytes_of_items(size, count); \
        if (LIKELY(is_lone() && is_little_readable(stream, bytes) && count_served(OP_fread, KIND_read, stream->_fileno, bytes))) \
            return LONE(name)(__VA_ARGS__); \
        return full_##name(__VA_ARGS__); \
    } \
    static size_t full_##name parameters \
    { \
        if (size == 0 || count == 0) { \
            call_idled(OP_fread); \
            return REAL(name)(__VA_ARGS__); \
        } \
        size_t bytes; \
        IF_SERVED(!__builtin_mul_overflow(size, count, &bytes) ? stream_holds(stream, bytes) : NOT_SERVED, fread, read, stream, size_t, \
                  REAL(name)(__VA_ARGS__), result * size); \
        STREAM_CALL_FROM(call_state_before_items(stream, size), fread, stream, size_t, REAL(name)(__VA_ARGS__), read_items, size, result, count); \
    }
READ_ITEMS(fread, (void *buf, size_t size, size_t count, FILE *stream), buf, size, count, stream)
SAME_AS(fread_unlocked, fread); /* taking the lock as well is slower, not wrong */
SAME_AS(_IO_fread, fread);
READ_ITEMS(__fread_chk, (void *buf, size_t room, size_t size, size_t count, FILE *stream), buf, room, size, count, stream)
SAME_AS(__fread_unlocked_chk, __fread_chk);

/* EOF may be a number that was read. */
STREAMED(fread, int, getw, (FILE *stream), (stream), read, result == EOF && (feof_unlocked(stream) || ferror_unlocked(stream)) ? 0 : sizeof result)

STREAMED(fwrite, int, putw, (int number, FILE *stream), (number, stream), wrote, result == 0 ? (int64_t)sizeof number : -1)

static FULL size_t full_fwrite(const void *buf, size_t size, size_t count, FILE *stream);

INTERPOSE(size_t, fwrite, (const void *buf, size_t size, size_t count, FILE *stream))
{
    size_t bytes = bytes_of_items(size, count);
    if (LIKELY(is_lone() && is_little_writable(stream, bytes) && count_served(OP_fwrite, KIND_write, stream->_fileno, bytes)))
        return LONE(fwrite)(buf, size, count, stream);
    return full_fwrite(buf, size, count, stream);
}

static size_t full_fwrite(const void *buf, size_t size, size_t count, FILE *stream)
{
    if (size == 0 || count == 0) {
        call_idled(OP_fwrite);
        return REAL(fwrite)(buf, size, count, stream);
    }
    size_t bytes;
    IF_SERVED(!__builtin_mul_overflow(size, count, &bytes) ? stream_has_room(stream, bytes) : NOT_SERVED, fwrite, write, stream, size_t,
              REAL(fwrite)(buf, size, count, stream), result * size);
    STREAM_CALL(fwrite, stream, size_t, REAL(fwrite)(buf, size, count, stream), wrote, (int64_t)(result * size));
}
SAME_AS(fwrite_unlocked, fwrite);
SAME_AS(_IO_fwrite, fwrite);
