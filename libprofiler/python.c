#include "python.h"

#include "peek.h"
#include "segment.h"
#include "symbol.h"
#include "unwind.h"

#include <string.h>

/* Where a version of CPython keeps what we read, in bytes. */
struct layout {
    unsigned version; /* major << 8 | minor */
    unsigned char state_cframe, cframe_frame;
    unsigned char frame_code, frame_previous, frame_instruction, frame_owner, frame_is_entry;
    unsigned char code_first_line, code_file, code_name, code_lines, code_bytes;
    unsigned char text_ascii, text_wide;
};

enum { OWNED_BY_C_STACK = 3, LINES_BYTES_MAX = 16 << 10, OBJECT_TYPE = 8, TEXT_STATE = 32, TEXT_LENGTH = 16, BYTES_LENGTH = 16, BYTES_CONTENT = 32 };

/* clang-format off */
static const struct layout layouts[] = {
    { .version = 0x30b, .state_cframe = 56, .cframe_frame = 8, .frame_code = 32, .frame_previous = 48, .frame_instruction = 56, .frame_owner = 69,
      .frame_is_entry = 68, .code_first_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136, .code_bytes = 184, .text_ascii = 48,
      .text_wide = 72 },
    { .version = 0x30c, .state_cframe = 56, .cframe_frame = 0, .frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 70,
      .frame_is_entry = 0, .code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136, .code_bytes = 192, .text_ascii = 40,
      .text_wide = 56 },
};
/* clang-format on */

static struct {
    bool is_looked_for;
    const struct layout *layout; /* NULL: no interpreter, or one that we do not know */
    void *(*state_of_this_thread)(void);
    uint64_t loop, code_type;
    bool is_trusted; /* a whole stack was as its layout says: from then on reading it needs no care */
} python;

static uint64_t address_of(const char *name)
{
    return (uint64_t)(uintptr_t)symbol_find(name, true);
}

/* Only among what the program began with, which stays. At the first sample, so that no process pays that has none. */
static void look_for_interpreter(void)
{
    python.is_looked_for = true;
    const unsigned long *version = symbol_find("Py_Version", true);
    void *state_of_this_thread = symbol_find("PyGILState_GetThisThreadState", true);
    if (version == NULL || state_of_this_thread == NULL)
        return;
    memcpy(&python.state_of_this_thread, &state_of_this_thread, sizeof state_of_this_thread);
    python.loop = address_of("_PyEval_EvalFrameDefault");
    python.code_type = address_of("PyCode_Type");
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (*version >> 16 == layouts[i].version)
            python.layout = &layouts[i];
}

static const struct layout *layout_here(void)
{
    if (!python.is_looked_for)
        look_for_interpreter();
    return python.layout;
}

uint64_t python_loop(void)
{
    return layout_here() != NULL ? python.loop : 0;
}

static uint64_t word_of(const unsigned char *object, unsigned offset)
{
    uint64_t word;
    memcpy(&word, object + offset, sizeof word);
    return word;
}

static bool look_at(uint64_t address, void *to, size_t bytes)
{
    if (!python.is_trusted)
        return peek(address, to, bytes);
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return true;
}

unsigned python_frames(struct python_frame *frames, unsigned most, bool is_interrupted)
{
    const struct layout *layout = layout_here();
    unsigned char frame[72], code[144];
    uint64_t state, cframe, at;
    if (layout == NULL)
        return 0;
    if (is_interrupted)
        python.is_trusted = false;
    state = (uint64_t)(uintptr_t)python.state_of_this_thread();
    if (state == 0 || !look_at(state + layout->state_cframe, &cframe, sizeof cframe) || cframe == 0 ||
        !look_at(cframe + layout->cframe_frame, &at, sizeof at))
        return 0;
    unsigned count = 0;
    for (unsigned steps = 0; at != 0 && count < most && steps < 2 * most; steps++) {
        if (!look_at(at, frame, sizeof frame))
            return 0;
        if (layout->frame_is_entry == 0 && frame[layout->frame_owner] == OWNED_BY_C_STACK) {
            if (count > 0)
                frames[count - 1].is_entry = true;
        } else {
            struct python_frame found = { .code = word_of(frame, layout->frame_code), .instruction = word_of(frame, layout->frame_instruction) };
            if (!look_at(found.code, code, sizeof code) || word_of(code, OBJECT_TYPE) != python.code_type)
                return 0;
            found.names[0] = word_of(code, layout->code_name);
            found.names[1] = word_of(code, layout->code_file);
            found.is_entry = layout->frame_is_entry != 0 && frame[layout->frame_is_entry] != 0;
            frames[count++] = found;
        }
        at = word_of(frame, layout->frame_previous);
    }
    python.is_trusted = count > 0;
    return count;
}

static char *put_letter(char *out, const char *end, unsigned letter)
{
    if (letter < 0x80 && out < end)
        *out++ = (char)letter;
    else if (letter < 0x800 && end - out >= 2) {
        *out++ = (char)(0xc0 | letter >> 6);
        *out++ = (char)(0x80 | (letter & 0x3f));
    } else if (end - out >= 3) {
        unsigned known = letter < 0x10000 ? letter : 0xfffd;
        *out++ = (char)(0xe0 | known >> 12);
        *out++ = (char)(0x80 | (known >> 6 & 0x3f));
        *out++ = (char)(0x80 | (known & 0x3f));
    }
    return out;
}

/* A str object's text as UTF-8, its end where it is long and `keeps_end`. */
static bool read_text(uint64_t object, char *text, size_t room, bool keeps_end)
{
    static unsigned char content[4 * PYTHON_FILE_BYTES];
    uint64_t length;
    uint32_t state;
    if (!peek(object + TEXT_LENGTH, &length, sizeof length) || !peek(object + TEXT_STATE, &state, sizeof state))
        return false;
    unsigned width = state >> 2 & 7;
    bool is_compact = (state >> 5 & 1) != 0, is_ascii = (state >> 6 & 1) != 0;
    if (!is_compact || (width != 1 && width != 2 && width != 4))
        return false;
    uint64_t letters = length < room - 1 ? length : room - 1, first = keeps_end ? length - letters : 0;
    if (!peek(object + (is_ascii ? python.layout->text_ascii : python.layout->text_wide) + first * width, content, letters * width))
        return letters == 0;
    char *out = text;
    for (uint64_t i = 0; i < letters; i++) {
        uint32_t letter = 0;
        memcpy(&letter, content + i * width, width);
        out = put_letter(out, text + room - 1, letter >= ' ' ? letter : '?');
    }
    *out = '\0';
    return true;
}

static uint64_t take_number(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 60; shift += 6) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x3f) << shift;
        if ((byte & 0x40) == 0)
            break;
    }
    return value;
}

static int64_t take_difference(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = take_number(at, end);
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* The line of an instruction by the table of locations (CPython's Objects/locations.md). 0: not known. */
static uint64_t line_of(uint64_t table, uint64_t unit, int64_t line)
{
    enum { ONE_LINE_0 = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    static unsigned char content[LINES_BYTES_MAX];
    uint64_t bytes;
    if (!peek(table + BYTES_LENGTH, &bytes, sizeof bytes))
        return 0;
    bytes = bytes < sizeof content ? bytes : sizeof content;
    if (!peek(table + BYTES_CONTENT, content, bytes))
        return 0;
    const unsigned char *at = content, *end = content + bytes;
    for (uint64_t first = 0; at < end;) {
        unsigned char head = *at++;
        unsigned code = head >> 3 & 15;
        if (code == LONG || code == NO_COLUMNS) {
            line += take_difference(&at, end);
            for (int more = code == LONG ? 3 : 0; more > 0; more--)
                take_number(&at, end);
        } else if (code >= ONE_LINE_0 && code != NONE) {
            line += code - ONE_LINE_0;
            at += 2;
        } else if (code != NONE)
            at++;
        first += (head & 7) + 1u;
        if (unit < first)
            return code == NONE || line < 0 ? 0 : (uint64_t)line;
    }
    return 0;
}

bool python_describe(const struct python_frame *frame, char *function, char *file, uint64_t *line)
{
    const struct layout *layout = layout_here();
    unsigned char code[144];
    int32_t first_line;
    if (layout == NULL || !peek(frame->code, code, sizeof code) || !read_text(word_of(code, layout->code_name), function, PYTHON_NAME_BYTES, false) ||
        !read_text(word_of(code, layout->code_file), file, PYTHON_FILE_BYTES, true))
        return false;
    memcpy(&first_line, code + layout->code_first_line, sizeof first_line);
    *line = line_of(word_of(code, layout->code_lines), (frame->instruction - frame->code - layout->code_bytes) / 2, first_line);
    return function[0] != '\0';
}
