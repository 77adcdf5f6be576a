#include "turn_values.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { TARGET_BITS = 64 };

static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    { "bytes", offsetof(struct turn_values, bytes) },   { "rounds", offsetof(struct turn_values, rounds) },
    { "files", offsetof(struct turn_values, files) },   { "seconds", offsetof(struct turn_values, seconds) },
    { "demand", offsetof(struct turn_values, demand) }, { "processes", offsetof(struct turn_values, processes) },
    { "period", offsetof(struct turn_values, period) },
};

static bool is_named(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

static uint64_t bit_of_target(const char *text, size_t length)
{
    uint64_t number = 0, hash = 14695981039346656037u; /* FNV-1a */
    bool is_number = true;
    for (size_t i = 0; i < length; i++) {
        is_number = is_number && text[i] >= '0' && text[i] <= '9';
        number = number * 10 + (uint64_t)(text[i] - '0');
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    }
    return (uint64_t)1 << (is_number ? number : hash) % TARGET_BITS;
}

static uint64_t read_targets(const char *text, const char *end)
{
    uint64_t targets = 0;
    for (const char *at = text; at < end;) {
        size_t length = strcspn(at, ", ");
        targets |= length > 0 ? bit_of_target(at, length) : 0;
        at += length + 1;
    }
    return targets;
}

/* A number such as 12, 0.5 or 1e9, whatever the program's locale is. Returns the first character that is none of it. */
static const char *read_number(const char *text, double *number)
{
    double value = 0, unit = 1;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            value += (unit /= 10) * (*at - '0');
    if (at > text && (*at == 'e' || *at == 'E')) {
        const bool is_small = at[1] == '-';
        unsigned power = 0;
        for (at += at[1] == '-' || at[1] == '+' ? 2 : 1; *at >= '0' && *at <= '9'; at++)
            power = power < 400 ? power * 10 + (unsigned)(*at - '0') : power;
        for (; power > 0 && value > 0 && isfinite(value); power--)
            value = is_small ? value / 10 : value * 10;
    }
    *number = value;
    return at;
}

static void read_value(struct turn_values *values, const char *name, size_t length, const char *text, const char *end)
{
    double number;
    if (is_named(name, length, "targets"))
        values->targets = read_targets(text, end);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!is_named(name, length, numbers[i].name))
            continue;
        if (read_number(text, &number) == end && isfinite(number) && number > 0)
            *(double *)((char *)values + numbers[i].offset) = number;
    }
}

void turn_values_read(struct turn_values *values, const char *text)
{
    for (const char *at = text + strspn(text, " "); *at != '\0'; at += strspn(at, " ")) {
        size_t name = strcspn(at, "= "), whole = strcspn(at, " ");
        if (name < whole)
            read_value(values, at, name, at + name + 1, at + whole);
        at += whole;
    }
}

static double or_one(double number)
{
    return number > 0 ? number : 1;
}

double turn_values_bytes(const struct turn_values *values)
{
    return values->bytes * or_one(values->rounds) * or_one(values->files);
}

struct turn_more turn_values_more(const struct turn_values *values)
{
    return (struct turn_more){ .period_seconds = values->period, .targets = values->targets };
}
