#include "job_stats.h"

#include "raw.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 256 << 10 };
#define SECOND_NS 1000000000ull
#define US_NS 1000ull
/* No server has counted more of anything: what is larger is damage. */
#define MOST (1ull << 58)

/* Where it is in the file. */
struct parsing {
    struct job_stats *reader;
    struct job_entry entry;
    bool has_entry, is_skipping, is_asked;
    bool has_bytes[2]; /* reads and writes, of which `read` and `write` are then the requests and the time */
    uint64_t operations;
};

/* A rename is counted once more by its sort (samedir_rename, ...), and statfs is what `df` asks: neither is here. */
static const char *const operations[] = { "open",    "close",    "mknod",    "link", "unlink",  "mkdir",     "rmdir",    "rename", "getattr",
                                          "setattr", "getxattr", "setxattr", "sync", "migrate", "fallocate", "readpage", "punch",  NULL };
static const char *const of_metadata[] = { "open", "close", "mknod", "mkdir", "unlink", "rename", NULL };

/* `names` ends with NULL. */
static bool is_among(const char *const *names, const char *name, size_t length)
{
    for (; *names != NULL; names++)
        if (strlen(*names) == length && memcmp(*names, name, length) == 0)
            return true;
    return false;
}

/* The number at `at` or behind blanks there; 0 if there is none. What is larger than any count stays at the most. */
static uint64_t number_at(const char *at, const char *end, const char **behind)
{
    uint64_t number = 0;
    while (at < end && *at == ' ')
        at++;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        number = number < UINT64_MAX / 10 - 1 ? number * 10 + (uint64_t)(*at - '0') : UINT64_MAX / 10;
    if (behind != NULL)
        *behind = at;
    return number;
}

static uint64_t time_at(const char *at, const char *end, bool *is_exact)
{
    const char *behind;
    uint64_t seconds = number_at(at, end, &behind), ns = 0;
    *is_exact = behind < end && *behind == '.';
    if (*is_exact) {
        unsigned digits = 0;
        for (behind++; behind < end && *behind >= '0' && *behind <= '9' && digits < 9; behind++, digits++)
            ns = ns * 10 + (uint64_t)(*behind - '0');
        for (; digits < 9; digits++)
            ns *= 10;
    }
    return seconds < MOST / SECOND_NS * 16 ? seconds * SECOND_NS + ns : 0;
}

static int hex(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : (digit | 32) >= 'a' && (digit | 32) <= 'f' ? (digit | 32) - 'a' + 10 : -1;
}

/* Since 2.15 a name that holds more than letters is in quotes, with \xHH for what is none. */
static void take_name(struct parsing *parsing, const char *at, const char *end)
{
    char *out = parsing->entry.name;
    size_t room = sizeof parsing->entry.name - 1;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == ' ' || end[-1] == '\r'))
        end--;
    bool is_quoted = end - at > 1 && *at == '"' && end[-1] == '"';
    at += is_quoted;
    end -= is_quoted;
    for (; at < end && room > 0; room--)
        if (is_quoted && end - at > 3 && at[0] == '\\' && at[1] == 'x' && hex(at[2]) >= 0 && hex(at[3]) >= 0) {
            *out++ = (char)(hex(at[2]) << 4 | hex(at[3]));
            at += 4;
        } else {
            *out++ = *at++;
        }
    *out = '\0';
    for (char *letter = parsing->entry.name; letter < out; letter++)
        *letter = *letter == '\0' ? '?' : *letter;
}

static void end_entry(struct parsing *parsing)
{
    struct job_entry *entry = &parsing->entry;
    if (!parsing->has_entry)
        return;
    parsing->has_entry = false;
    parsing->reader->entries++;
    if (parsing->is_skipping || entry->name[0] == '\0')
        return;
    entry->counts[SERVED_meta_ops] = entry->is_metadata ? parsing->operations : 0;
    for (unsigned count = 0; count < SERVED_COUNTS; count++)
        if (entry->counts[count] > MOST)
            return;
    parsing->reader->take(parsing->reader->argument, entry);
}

static void begin_entry(struct parsing *parsing, const char *name, const char *end)
{
    end_entry(parsing);
    struct job_stats *reader = parsing->reader;
    *parsing = (struct parsing){ .reader = reader, .has_entry = true };
    take_name(parsing, name, end);
}

/* The number behind `word` in a line; 0 if it is not there. */
static uint64_t number_behind(const char *line, const char *end, const char *word)
{
    const char *found = memmem(line, (size_t)(end - line), word, strlen(word));
    return found != NULL ? number_at(found + strlen(word), end, NULL) : 0;
}

/* `write_bytes: { samples: 12, unit: bytes, min: 4096, max: 1048576, sum: 9437184 ...`. */
static void take_kind(struct parsing *parsing, const char *name, size_t length, const char *rest, const char *end)
{
    struct job_entry *entry = &parsing->entry;
    uint64_t samples = number_behind(rest, end, "samples:");
    entry->is_metadata |= is_among(of_metadata, name, length);
    if (samples == 0)
        return;
    bool is_read = length >= 4 && memcmp(name, "read", 4) == 0, is_write = length >= 5 && memcmp(name, "write", 5) == 0;
    size_t way = is_read ? 4 : 5;
    bool is_bytes = length == way + 6 && memcmp(name + way, "_bytes", 6) == 0;
    if ((is_read || is_write) && (is_bytes || length == way)) {
        /* Of 2.5 `read` has bytes; later ones have `read_bytes`, and `read` has the same requests and their time. */
        bool has_time = memmem(rest, (size_t)(end - rest), "usec", 4) != NULL;
        if (is_bytes || !has_time)
            entry->counts[is_read ? SERVED_read_bytes : SERVED_write_bytes] += number_behind(rest, end, "sum:");
        else
            entry->counts[SERVED_busy_ns] += number_behind(rest, end, "sum:") * US_NS;
        if (!parsing->has_bytes[is_write] || is_bytes)
            entry->counts[is_read ? SERVED_read_ops : SERVED_write_ops] = samples;
        parsing->has_bytes[is_write] |= is_bytes;
    } else if (is_among(operations, name, length)) {
        parsing->operations += samples;
    }
}

static void take_line(struct parsing *parsing, const char *line, const char *end)
{
    if (line < end && *line == '-') {
        const char *name = memmem(line, (size_t)(end - line), "job_id:", 7);
        if (name != NULL)
            begin_entry(parsing, name + 7, end);
        return;
    }
    if (!parsing->has_entry)
        return;
    while (line < end && *line == ' ')
        line++;
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (colon == NULL)
        return;
    size_t length = (size_t)(colon - line);
    bool is_exact;
    if (length == 13 && memcmp(line, "snapshot_time", 13) == 0) {
        parsing->entry.changed_ns = time_at(colon + 1, end, &parsing->entry.is_changed_exactly);
    } else if (length == 10 && memcmp(line, "start_time", 10) == 0) {
        parsing->entry.start_ns = time_at(colon + 1, end, &is_exact);
    } else if (memchr(colon, '{', (size_t)(end - colon)) != NULL) {
        struct job_stats *reader = parsing->reader;
        if (!parsing->is_asked)
            parsing->is_skipping = reader->is_known(reader->argument, &parsing->entry);
        parsing->is_asked = true;
        if (!parsing->is_skipping)
            take_kind(parsing, line, length, colon, end);
    }
}

/* Takes all whole lines. Returns how many bytes they have. */
static size_t take_lines(struct parsing *parsing, const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;
    while (at < end) {
        const char *line = at;
        if (parsing->is_skipping) { /* straight to the next entry */
            const char *next = memmem(at, (size_t)(end - at), "\n- ", 3);
            if (next == NULL)
                return end - at > 2 ? bytes - 2 : (size_t)(at - text);
            at = next;
            line = next + 1;
        }
        const char *line_end = memchr(line, '\n', (size_t)(end - line));
        if (line_end == NULL)
            break;
        take_line(parsing, line, line_end);
        at = line_end + (parsing->is_skipping ? 0 : 1); /* an entry begins behind a line's end */
    }
    return (size_t)((at < end ? at : end) - text);
}

static char buffer[BUFFER_BYTES];

int job_stats_read(struct job_stats *reader, const char *path)
{
    struct parsing parsing = { .reader = reader };
    size_t used = 0;
    long got = 0;
    int fd = raw_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return fd;
    while ((got = raw_result(syscall(SYS_read, fd, buffer + used, sizeof buffer - used))) > 0) {
        used += (size_t)got;
        size_t taken = take_lines(&parsing, buffer, used);
        if (taken == 0 && used == sizeof buffer) /* a line of such a length is none of Lustre's */
            taken = used;
        memmove(buffer, buffer + taken, used - taken);
        used -= taken;
    }
    raw_close(fd);
    if (got == 0)
        end_entry(&parsing);
    return (int)got;
}

bool job_stats_line(struct stats_line *said, const char *line)
{
    char whole[256];
    unsigned long least, most;
    *said = (struct stats_line){ 0 };
    snprintf(whole, sizeof whole, "%.*s", (int)strcspn(line, "\n"), line);
    return sscanf(whole, "%63s %lu samples [%15[^]]] %lu %lu %lu", said->name, &said->samples, said->unit, &least, &most, &said->sum) >= 3;
}

int job_stats_read_client(struct job_entry *entry, const char *path)
{
    long length = raw_read_file(path, buffer, sizeof buffer);
    if (length < 0)
        return (int)length;
    uint64_t calls = 0;
    for (const char *line = buffer; *line != '\0'; line = text_next_line(line)) {
        struct stats_line said;
        bool is_exact;
        if (strncmp(line, "start_time", 10) == 0)
            entry->start_ns = time_at(line + 10, line + strcspn(line, "\n"), &is_exact);
        if (!job_stats_line(&said, line) || said.samples > MOST || said.sum > MOST)
            continue;
        const char *name = said.name;
        size_t size = strlen(name);
        bool is_read = strncmp(name, "read", 4) == 0;
        entry->is_metadata |= is_among(of_metadata, name, size);
        if (strcmp(name, "read_bytes") == 0 || strcmp(name, "write_bytes") == 0) {
            entry->counts[is_read ? SERVED_read_bytes : SERVED_write_bytes] = said.sum;
            entry->counts[is_read ? SERVED_read_ops : SERVED_write_ops] = said.samples;
        } else if ((strcmp(name, "read") == 0 || strcmp(name, "write") == 0) && strncmp(said.unit, "usec", 4) == 0) {
            entry->counts[SERVED_busy_ns] += said.sum * US_NS;
        } else if (is_among(operations, name, size)) {
            calls += said.samples;
        }
    }
    entry->counts[SERVED_meta_ops] = entry->is_metadata ? calls : 0;
    return 0;
}
