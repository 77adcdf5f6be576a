/* Text put together without stdio, whose code a process that does next to nothing would have to bring into memory. What does not fit is cut
 * off, as the caller can tell by the end: `at` is then `end`. A text is always ended. */
#ifndef SLICEWISE_TEXT_H
#define SLICEWISE_TEXT_H

#include <stdint.h>
#include <string.h>

/* Copies a string to `at`, of which the last byte before `end` is the 0. Returns where the next one goes. */
static inline char *text_put(char *at, char *end, const char *string)
{
    while (at + 1 < end && *string != '\0')
        *at++ = *string++;
    if (*string != '\0')
        at = end; /* cut off */
    if (at < end)
        *at = '\0';
    else
        end[-1] = '\0';
    return at;
}

static inline char *text_put_number(char *at, char *end, uint64_t number)
{
    char digits[21], *first = digits + sizeof digits - 1;
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    return text_put(at, end, first);
}

/* What follows a line's end. */
static inline const char *text_next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end != NULL ? end + 1 : line + strlen(line);
}

/* The last part of a path, with the slash that may be behind it. */
static inline const char *text_last_part(const char *path)
{
    const char *last = path;
    for (const char *at = path; *at != '\0'; at++)
        if (at[0] == '/' && at[1] != '\0')
            last = at + 1;
    return last;
}

static inline uint64_t text_number(const char *text)
{
    uint64_t number = 0;
    for (; *text == ' '; text++)
        ;
    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

#endif
