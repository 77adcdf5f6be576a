#include "visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t first, last;
} unsafe_letters[] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x34f, 0x34f },     { 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
    { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xd800, 0xdfff },   { 0xfeff, 0xfeff },
    { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_unsafe(uint32_t letter)
{
    for (size_t i = 0; i < sizeof unsafe_letters / sizeof *unsafe_letters; i++)
        if (letter >= unsafe_letters[i].first && letter <= unsafe_letters[i].last)
            return true;
    return false;
}

/* The letter that begins there and its bytes; 0 bytes where they are no UTF-8: cut off, too long for what they say, or a surrogate. */
static size_t decode(const unsigned char *at, uint32_t *letter)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t bytes = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    *letter = bytes < 2 ? at[0] : at[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] >> 6 != 2)
            return 0;
        *letter = *letter << 6 | (at[i] & 0x3f);
    }
    bool is_letter = bytes > 0 && *letter >= least[bytes] && *letter <= 0x10ffff && (*letter < 0xd800 || *letter > 0xdfff);
    return is_letter ? bytes : 0;
}

size_t visible_line(char *to, size_t room, const char *line)
{
    size_t filled = 0;
    for (const unsigned char *at = (const unsigned char *)line; *at != '\0' && !(at[0] == '\n' && at[1] == '\0');) {
        char spelled[16];
        uint32_t letter;
        size_t bytes = decode(at, &letter), length = bytes;
        if (bytes == 0 || is_unsafe(letter)) {
            letter = bytes == 0 ? *at : letter;
            bytes = bytes == 0 ? 1 : bytes;
            length = (size_t)snprintf(spelled, sizeof spelled, letter <= 0xff ? "\\x%02x" : letter <= 0xffff ? "\\u%04x" : "\\U%08x", letter);
        } else
            memcpy(spelled, at, bytes);
        if (filled + length + 2 > room)
            break;
        memcpy(to + filled, spelled, length);
        filled += length;
        at += bytes;
    }
    to[filled++] = '\n';
    to[filled] = '\0';
    return filled;
}
