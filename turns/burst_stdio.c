/* Gates in front of stdio's reads and writes (burst.h). A stream's buffer goes to its file in libc, where no wrapper sees it: so a gate asks before
 * a call that will hand the buffer on, or, where only the call's end tells that, after it. Nobody waits for a turn who holds a stream's lock, and
 * where somebody holds it, who may be the caller, nobody asks. What moves characters of the stream in macros (putc_unlocked) passes. */
#include "burst.h"
#include "coordinate.h"
#include "interpose.h"
#include "stdio_buffer.h"

#include <stdarg.h>

/* The wrappers. */
static size_t (*next_fwrite)(const void *buf, size_t size, size_t count, FILE *stream);
static size_t (*next_fread)(void *buf, size_t size, size_t count, FILE *stream);
static int (*next_fflush)(FILE *stream);
static int (*next_fclose)(FILE *stream);
static int (*next_fputc)(int c, FILE *stream);
static int (*next_fputs)(const char *text, FILE *stream);
static int (*next_vfprintf)(FILE *stream, const char *format, va_list arguments);
static int (*next_vfprintf_chk)(FILE *stream, int flag, const char *format, va_list arguments);

/* glibc's lock of a stream begins with its word: 0 where nobody holds it. */
static bool is_locked(const FILE *stream)
{
    const int *lock = (const int *)stream->_lock;
    return lock != NULL && __atomic_load_n(lock, __ATOMIC_RELAXED) != 0;
}

static bool is_of_bytes(const FILE *stream)
{
    return stream->_fileno >= 0 && stream->_mode <= 0;
}

/* What lies written in a stream that other threads may use; 0 where that cannot be told. */
static int64_t pending_in(const FILE *stream)
{
    int64_t pending = stream_pending(stream);
    return pending > 0 ? pending : 0;
}

static enum burst enter(const FILE *stream, int64_t bytes)
{
    return bytes > 0 && !is_locked(stream) ? burst_enter(stream->_fileno, (uint64_t)bytes) : BURST_PASSED;
}

static size_t gate_fwrite(const void *buf, size_t size, size_t count, FILE *stream)
{
    size_t bytes = bytes_of_items(size, count);
    if (bytes == 0 || !is_of_bytes(stream) || is_writable(stream, bytes))
        return next_fwrite(buf, size, count, stream);
    int64_t passes = pending_in(stream) + (int64_t)bytes;
    enum burst entered = enter(stream, passes);
    size_t items = next_fwrite(buf, size, count, stream);
    burst_leave(entered, (uint64_t)passes, passes);
    return items;
}

static size_t gate_fread(void *buf, size_t size, size_t count, FILE *stream)
{
    size_t bytes = bytes_of_items(size, count);
    if (bytes == 0 || !is_of_bytes(stream) || is_readable(stream, bytes))
        return next_fread(buf, size, count, stream);
    enum burst entered = enter(stream, (int64_t)bytes);
    size_t items = next_fread(buf, size, count, stream);
    burst_leave(entered, bytes, (int64_t)(items * size));
    return items;
}

static int gate_fflush(FILE *stream)
{
    int64_t pending = stream != NULL && is_of_bytes(stream) ? pending_in(stream) : 0;
    enum burst entered = pending > 0 ? enter(stream, pending) : BURST_PASSED;
    int failed = next_fflush(stream);
    burst_leave(entered, (uint64_t)pending, pending);
    return failed;
}

static int gate_fclose(FILE *stream)
{
    int fd = stream->_fileno;
    int64_t pending = is_of_bytes(stream) ? pending_in(stream) : 0;
    enum burst entered = enter(stream, pending);
    int failed = next_fclose(stream);
    burst_leave(entered, (uint64_t)pending, pending);
    burst_closing(fd);
    return failed;
}

/* Text of a length that the call tells only at its end: what went out of the buffer meanwhile. */
static void passed(const FILE *stream, int64_t pending_before, int64_t put)
{
    int64_t passed = put > 0 ? pending_before + put - pending_in(stream) : 0;
    if (passed > 0 && is_of_bytes(stream) && !is_locked(stream))
        burst_passed(stream->_fileno, passed);
}

static int gate_fputc(int c, FILE *stream)
{
    int64_t pending = pending_in(stream);
    int put = next_fputc(c, stream);
    passed(stream, pending, put != EOF);
    return put;
}

static int gate_fputs(const char *text, FILE *stream)
{
    int64_t pending = pending_in(stream);
    int put = next_fputs(text, stream);
    passed(stream, pending, put >= 0 ? (int64_t)strlen(text) : 0);
    return put;
}

static int gate_vfprintf(FILE *stream, const char *format, va_list arguments)
{
    int64_t pending = pending_in(stream);
    int put = next_vfprintf(stream, format, arguments);
    passed(stream, pending, put);
    return put;
}

static int gate_fprintf(FILE *stream, const char *format, ...)
{
    FORWARD(format, gate_vfprintf(stream, format, arguments));
}

static int gate_vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments)
{
    int64_t pending = pending_in(stream);
    int put = next_vfprintf_chk(stream, flag, format, arguments);
    passed(stream, pending, put);
    return put;
}

static int gate_fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    FORWARD(format, gate_vfprintf_chk(stream, flag, format, arguments));
}

void burst_put_gates_for_stdio(void)
{
    void *unused; /* with `...`: the forms with va_list are called */
    PUT_GATE(fwrite, fwrite);
    PUT_GATE(fwrite_unlocked, fwrite);
    PUT_GATE(_IO_fwrite, fwrite);
    PUT_GATE(fflush, fflush);
    PUT_GATE(fflush_unlocked, fflush);
    PUT_GATE(_IO_fflush, fflush);
    PUT_GATE(fclose, fclose);
    PUT_GATE(_IO_fclose, fclose);
    PUT_GATE(fputc, fputc);
    PUT_GATE(putc, fputc);
    PUT_GATE(_IO_putc, fputc);
    PUT_GATE(fputc_unlocked, fputc);
    PUT_GATE(putc_unlocked, fputc);
    PUT_GATE(fputs, fputs);
    PUT_GATE(fputs_unlocked, fputs);
    PUT_GATE(_IO_fputs, fputs);
    PUT_GATE(vfprintf, vfprintf);
    PUT_GATE(_IO_vfprintf, vfprintf);
    PUT_GATE(__vfprintf_chk, vfprintf_chk);
    profiler->gate("fprintf", (void *)gate_fprintf, &unused);
    profiler->gate("_IO_fprintf", (void *)gate_fprintf, &unused);
    profiler->gate("__fprintf_chk", (void *)gate_fprintf_chk, &unused);
    if (coordinate_has_reads()) {
        PUT_GATE(fread, fread);
        PUT_GATE(fread_unlocked, fread);
        PUT_GATE(_IO_fread, fread);
    }
}
