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
    STREAM_CALL(fgetwc, stream, wint_t, REAL(fgetwc)(stream), read, result != WEOF ? wide_bytes(result) : 0);
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
    STREAM_CALL(fgetws, stream, wchar_t *, REAL(fgetws)(line, room, stream), read, result != NULL ? bytes_of_text(result) : 0);
}
SAME_AS(fgetws_unlocked, fgetws);

INTERPOSE(wchar_t *, __fgetws_chk, (wchar_t *line, size_t size, int room, FILE *stream))
{
    if (__builtin_expect(room <= 0, 0)) {
        call_idled(OP_fgetws);
        return REAL(__fgetws_chk)(line, size, room, stream);
    }
    STREAM_CALL(fgetws, stream, wchar_t *, REAL(__fgetws_chk)(line, size, room, stream), read, result != NULL ? bytes_of_text(result) : 0);
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
    STREAM_CALL(fputwc, stream, wint_t, REAL(fputwc)(c, stream), wrote, result != WEOF ? wide_bytes(result) : -1);
}
SAME_AS(putwc, fputwc);
SAME_AS(fputwc_unlocked, fputwc);
SAME_AS(putwc_unlocked, fputwc);

INTERPOSE(wint_t, putwchar, (wchar_t c))
{
    return OWN(fputwc)(c, stdout);
}
SAME_AS(putwchar_unlocked, putwchar);

STREAMED(fputws, int, fputws, (const wchar_t *text, FILE *stream), (text, stream), wrote, result >= 0 ? bytes_of_text(text) : -1)
SAME_AS(fputws_unlocked, fputws);

/* Formatted text tells how many characters it came to, and not which: each counts as one byte. */
STREAMED(fwprintf, int, vfwprintf, (FILE *stream, const wchar_t *format, va_list arguments), (stream, format, arguments), wrote, result)

STREAMED(fwprintf, int, __vfwprintf_chk, (FILE *stream, int flag, const wchar_t *format, va_list arguments), (stream, flag, format, arguments), wrote, result)

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

SCANF(old, , w, wchar_t, STREAM_CALL(fwscanf, stream, int, REAL(old_vfwscanf)(stream, format, arguments), read, BY_STATE))
SCANF(isoc99, __isoc99_, w, wchar_t, STREAM_CALL(fwscanf, stream, int, REAL(isoc99_vfwscanf)(stream, format, arguments), read, BY_STATE))
SCANF(isoc23, __isoc23_, w, wchar_t, STREAM_CALL(fwscanf, stream, int, REAL(isoc23_vfwscanf)(stream, format, arguments), read, BY_STATE))
