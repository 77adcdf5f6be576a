/* stdio: wide characters. Bytes are what the characters take in the file: in UTF-8, or one each where the locale has single bytes. */
#include "interpose.h"
#include "stdio_buffer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <wchar.h>

#undef getwc
#undef putwc

static int64_t bytes_of_text(const wchar_t *text)
{
    int64_t bytes = 0;
    for (; *text != L'\0'; text++)
        bytes += wide_bytes((wint_t)*text);
    return bytes;
}

/* Characters of one byte alone are counted as served: what others have more counts as passed from or to the kernel when they come or go. */
enum { ONE_BYTE_END = 0x80 };

INLINE bool is_wide_readable(const FILE *stream)
{
    if (!LIKELY(stream->_mode > 0))
        return false;
    const struct _IO_wide_data *wide = stream->_wide_data;
    return wide->read_ptr < wide->read_end && (wint_t)*wide->read_ptr < ONE_BYTE_END;
}

INLINE bool is_wide_writable(const FILE *stream, wchar_t c)
{
    if (!LIKELY(stream->_mode > 0 && (wint_t)c < ONE_BYTE_END))
        return false;
    const struct _IO_wide_data *wide = stream->_wide_data;
    return wide->write_ptr < wide->write_end;
}

static FULL wint_t full_fgetwc(FILE *stream);

INTERPOSE(wint_t, fgetwc, (FILE *stream))
{
    if (LIKELY(is_lone() && is_wide_readable(stream) && count_served(OP_fgetwc, KIND_read, stream->_fileno, 1)))
        return LONE(fgetwc)(stream);
    return full_fgetwc(stream);
}

static wint_t full_fgetwc(FILE *stream)
{
    if (is_alone_and_ready() && is_wide_readable(stream)) {
        wint_t c = REAL(fgetwc)(stream);
        call_served(OP_fgetwc, KIND_read, stream->_fileno, 1);
        return c;
    }
    struct call call = call_begin(OP_fgetwc);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    wint_t c = REAL(fgetwc)(stream);
    call_end(&call);
    call_stream_read(&call, stream, before, c != WEOF ? wide_bytes(c) : 0);
    stream_give(&turn);
    call_close(&call);
    return c;
}
SAME_AS(getwc, fgetwc);
SAME_AS(fgetwc_unlocked, fgetwc);
SAME_AS(getwc_unlocked, fgetwc);

INTERPOSE(wint_t, getwchar, (void))
{
    return OWN(fgetwc)(stdin);
}
SAME_AS(getwchar_unlocked, getwchar);

INTERPOSE(wchar_t *, fgetws, (wchar_t *line, int room, FILE *stream))
{
    if (__builtin_expect(room <= 1, 0)) {
        call_idled(OP_fgetws);
        return REAL(fgetws)(line, room, stream);
    }
    struct call call = call_begin(OP_fgetws);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    wchar_t *got = REAL(fgetws)(line, room, stream);
    call_end(&call);
    call_stream_read(&call, stream, before, got != NULL ? bytes_of_text(got) : 0);
    stream_give(&turn);
    call_close(&call);
    return got;
}
SAME_AS(fgetws_unlocked, fgetws);

INTERPOSE(wchar_t *, __fgetws_chk, (wchar_t *line, size_t size, int room, FILE *stream))
{
    if (__builtin_expect(room <= 0, 0)) {
        call_idled(OP_fgetws);
        return REAL(__fgetws_chk)(line, size, room, stream);
    }
    struct call call = call_begin(OP_fgetws);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    wchar_t *got = REAL(__fgetws_chk)(line, size, room, stream);
    call_end(&call);
    call_stream_read(&call, stream, before, got != NULL ? bytes_of_text(got) : 0);
    stream_give(&turn);
    call_close(&call);
    return got;
}
SAME_AS(__fgetws_unlocked_chk, __fgetws_chk);

static FULL wint_t full_fputwc(wchar_t c, FILE *stream);

INTERPOSE(wint_t, fputwc, (wchar_t c, FILE *stream))
{
    if (LIKELY(is_lone() && is_wide_writable(stream, c) && count_served(OP_fputwc, KIND_write, stream->_fileno, 1)))
        return LONE(fputwc)(c, stream);
    return full_fputwc(c, stream);
}

static wint_t full_fputwc(wchar_t c, FILE *stream)
{
    if (is_alone_and_ready() && is_wide_writable(stream, c)) {
        wint_t put = REAL(fputwc)(c, stream);
        call_served(OP_fputwc, KIND_write, stream->_fileno, 1);
        return put;
    }
    struct call call = call_begin(OP_fputwc);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    wint_t put = REAL(fputwc)(c, stream);
    call_end(&call);
    call_stream_wrote(&call, stream, before, put != WEOF ? wide_bytes(put) : -1);
    stream_give(&turn);
    call_close(&call);
    return put;
}
SAME_AS(putwc, fputwc);
SAME_AS(fputwc_unlocked, fputwc);
SAME_AS(putwc_unlocked, fputwc);

INTERPOSE(wint_t, putwchar, (wchar_t c))
{
    return OWN(fputwc)(c, stdout);
}
SAME_AS(putwchar_unlocked, putwchar);

INTERPOSE(int, fputws, (const wchar_t *text, FILE *stream))
{
    struct call call = call_begin(OP_fputws);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    int put = REAL(fputws)(text, stream);
    call_end(&call);
    call_stream_wrote(&call, stream, before, put >= 0 ? bytes_of_text(text) : -1);
    stream_give(&turn);
    call_close(&call);
    return put;
}
SAME_AS(fputws_unlocked, fputws);

/* Formatted text tells how many characters it came to, and not which: each counts as one byte. */
INTERPOSE(int, vfwprintf, (FILE *stream, const wchar_t *format, va_list arguments))
{
    struct call call = call_begin(OP_fwprintf);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    int put = REAL(vfwprintf)(stream, format, arguments);
    call_end(&call);
    call_stream_wrote(&call, stream, before, put);
    stream_give(&turn);
    call_close(&call);
    return put;
}

INTERPOSE(int, __vfwprintf_chk, (FILE *stream, int flag, const wchar_t *format, va_list arguments))
{
    struct call call = call_begin(OP_fwprintf);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    int put = REAL(__vfwprintf_chk)(stream, flag, format, arguments);
    call_end(&call);
    call_stream_wrote(&call, stream, before, put);
    stream_give(&turn);
    call_close(&call);
    return put;
}

INTERPOSE(int, fwprintf, (FILE *stream, const wchar_t *format, ...))
{
    FORWARD(format, OWN(vfwprintf)(stream, format, arguments));
}

INTERPOSE(int, wprintf, (const wchar_t *format, ...))
{
    FORWARD(format, OWN(vfwprintf)(stdout, format, arguments));
}

INTERPOSE(int, vwprintf, (const wchar_t *format, va_list arguments))
{
    return OWN(vfwprintf)(stdout, format, arguments);
}

INTERPOSE(int, __fwprintf_chk, (FILE *stream, int flag, const wchar_t *format, ...))
{
    FORWARD(format, OWN(__vfwprintf_chk)(stream, flag, format, arguments));
}

INTERPOSE(int, __wprintf_chk, (int flag, const wchar_t *format, ...))
{
    FORWARD(format, OWN(__vfwprintf_chk)(stdout, flag, format, arguments));
}

INTERPOSE(int, __vwprintf_chk, (int flag, const wchar_t *format, va_list arguments))
{
    return OWN(__vfwprintf_chk)(stdout, flag, format, arguments);
}

/* Three dialects, as of scanf (stdio_text.c). */
INTERPOSE_SYMBOL(int, old_vfwscanf, vfwscanf, (FILE *stream, const wchar_t *format, va_list arguments))
{
    struct call call = call_begin(OP_fwscanf);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    int items = REAL(old_vfwscanf)(stream, format, arguments);
    call_end(&call);
    call_stream_read(&call, stream, before, BY_STATE);
    stream_give(&turn);
    call_close(&call);
    return items;
}

INTERPOSE_SYMBOL(int, old_fwscanf, fwscanf, (FILE *stream, const wchar_t *format, ...))
{
    FORWARD(format, OWN(old_vfwscanf)(stream, format, arguments));
}

INTERPOSE_SYMBOL(int, old_wscanf, wscanf, (const wchar_t *format, ...))
{
    FORWARD(format, OWN(old_vfwscanf)(stdin, format, arguments));
}

INTERPOSE_SYMBOL(int, old_vwscanf, vwscanf, (const wchar_t *format, va_list arguments))
{
    return OWN(old_vfwscanf)(stdin, format, arguments);
}

INTERPOSE_SYMBOL(int, isoc99_vfwscanf, __isoc99_vfwscanf, (FILE *stream, const wchar_t *format, va_list arguments))
{
    struct call call = call_begin(OP_fwscanf);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    int items = REAL(isoc99_vfwscanf)(stream, format, arguments);
    call_end(&call);
    call_stream_read(&call, stream, before, BY_STATE);
    stream_give(&turn);
    call_close(&call);
    return items;
}

INTERPOSE_SYMBOL(int, isoc99_fwscanf, __isoc99_fwscanf, (FILE *stream, const wchar_t *format, ...))
{
    FORWARD(format, OWN(isoc99_vfwscanf)(stream, format, arguments));
}

INTERPOSE_SYMBOL(int, isoc99_wscanf, __isoc99_wscanf, (const wchar_t *format, ...))
{
    FORWARD(format, OWN(isoc99_vfwscanf)(stdin, format, arguments));
}

INTERPOSE_SYMBOL(int, isoc99_vwscanf, __isoc99_vwscanf, (const wchar_t *format, va_list arguments))
{
    return OWN(isoc99_vfwscanf)(stdin, format, arguments);
}

INTERPOSE_SYMBOL(int, isoc23_vfwscanf, __isoc23_vfwscanf, (FILE *stream, const wchar_t *format, va_list arguments))
{
    struct call call = call_begin(OP_fwscanf);
    struct turn turn;
    stream_take(&turn, stream);
    struct stream_state before = stream_state(stream);
    int items = REAL(isoc23_vfwscanf)(stream, format, arguments);
    call_end(&call);
    call_stream_read(&call, stream, before, BY_STATE);
    stream_give(&turn);
    call_close(&call);
    return items;
}

INTERPOSE_SYMBOL(int, isoc23_fwscanf, __isoc23_fwscanf, (FILE *stream, const wchar_t *format, ...))
{
    FORWARD(format, OWN(isoc23_vfwscanf)(stream, format, arguments));
}

INTERPOSE_SYMBOL(int, isoc23_wscanf, __isoc23_wscanf, (const wchar_t *format, ...))
{
    FORWARD(format, OWN(isoc23_vfwscanf)(stdin, format, arguments));
}

INTERPOSE_SYMBOL(int, isoc23_vwscanf, __isoc23_vwscanf, (const wchar_t *format, va_list arguments))
{
    return OWN(isoc23_vfwscanf)(stdin, format, arguments);
}
