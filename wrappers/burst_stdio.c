/* Gates in front of stdio's reads and writes (burst.h). A stream's buffer goes to its file in libc, where no wrapper sees it: so a gate asks before
 * a call that will hand the buffer on, or, where only the call's end tells that, after it. Nobody waits for a turn who holds a stream's lock, and
 * where somebody holds it, who may be the caller, nobody asks. What moves characters of the stream in macros (putc_unlocked) passes. */
#include "burst.h"
#include "burst_gates.h"
#include "coordinate.h"
#include "stdio_buffer.h"

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
        return wrapper_fwrite(buf, size, count, stream);
    int64_t passes = pending_in(stream) + (int64_t)bytes;
    enum burst entered = enter(stream, passes);
    size_t items = wrapper_fwrite(buf, size, count, stream);
    burst_leave(entered, (uint64_t)passes, passes);
    return items;
}

static size_t gate_fread(void *buf, size_t size, size_t count, FILE *stream)
{
    size_t bytes = bytes_of_items(size, count);
    if (bytes == 0 || !is_of_bytes(stream) || is_readable(stream, bytes))
        return wrapper_fread(buf, size, count, stream);
    enum burst entered = enter(stream, (int64_t)bytes);
    size_t items = wrapper_fread(buf, size, count, stream);
    burst_leave(entered, bytes, (int64_t)(items * size));
    return items;
}

static int gate_fflush(FILE *stream)
{
    int64_t pending = stream != NULL && is_of_bytes(stream) ? pending_in(stream) : 0;
    enum burst entered = pending > 0 ? enter(stream, pending) : BURST_PASSED;
    int failed = wrapper_fflush(stream);
    burst_leave(entered, (uint64_t)pending, pending);
    return failed;
}

static int gate_fclose(FILE *stream)
{
    int fd = stream->_fileno;
    int64_t pending = is_of_bytes(stream) ? pending_in(stream) : 0;
    enum burst entered = enter(stream, pending);
    int failed = wrapper_fclose(stream);
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
    int put = wrapper_fputc(c, stream);
    passed(stream, pending, put != EOF);
    return put;
}

static int gate_fputs(const char *text, FILE *stream)
{
    int64_t pending = pending_in(stream);
    int put = wrapper_fputs(text, stream);
    passed(stream, pending, put >= 0 ? (int64_t)strlen(text) : 0);
    return put;
}

static int gate_vfprintf(FILE *stream, const char *format, va_list arguments)
{
    int64_t pending = pending_in(stream);
    int put = stdio_put_formatted(stream, format, arguments);
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
    int put = stdio_put_formatted_with_care(stream, flag, format, arguments);
    passed(stream, pending, put);
    return put;
}

static int gate_fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    FORWARD(format, gate_vfprintf_chk(stream, flag, format, arguments));
}

/* After the engine's own constructor, which has read the settings. */
__attribute__((constructor)) static void begin(void)
{
    if (!coordinate_is_on())
        return;
    stdio_gate_writes(&(struct stdio_writes){ gate_fwrite, gate_fflush, gate_fclose });
    stdio_gate_texts(&(struct stdio_texts){ gate_fputc, gate_fputs, gate_fprintf, gate_vfprintf, gate_fprintf_chk, gate_vfprintf_chk });
    if (coordinate_has_reads())
        stdio_gate_reads(gate_fread);
}
