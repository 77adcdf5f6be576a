/* Calls functions with pointers that are bad, as a table says (tests/support/arguments.txt), in child processes, and prints for each call
 * what came of it. Bare and under the library it must print the same.
 *
 *     bad_pointers TABLE [SEED CALLS SEQUENCES | good | made]
 *
 * Without a seed each pointer of each row is bad in each way in turn; with a seed random arguments are bad in random calls, several in
 * a process. "good": the process itself makes each call once, as it is good, those without pointers as well; "made": it makes the
 * arguments for them, and does not call. Must not use stdio's streams itself: calls under test change them. */
#include "scenario.h"

#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <utime.h>
#include <wchar.h>

#include "bad_pointers.h"

enum { PAGE = 4096, ARGUMENTS_MAX = 8, ROWS_MAX = 1200, TEXT_MAX = 4 << 20, LONGEST_SECONDS = 10, CALLS_MAX = 80 };

/* The ways in which a pointer can be bad; the first two are not. */
#define WAYS(WAY) WAY(valid) WAY(exact) WAY(null) WAY(ones) WAY(unmapped) WAY(guarded) WAY(torn) WAY(read_only) WAY(inner)
enum way {
#define WAY(name) WAY_##name,
    WAYS(WAY)
#undef WAY
    WAYS_COUNT
};
static const char *const way_names[] = {
#define WAY(name) #name,
    WAYS(WAY)
#undef WAY
};

struct row {
    const char *symbol; /* of syscall(): the call's name follows a colon */
    enum { INT, POINTER, PID, NOTHING, ERROR } result; /* errors of MPI have any numbers */
    const char *kinds[ARGUMENTS_MAX];
    int count;
};
static struct row rows[ROWS_MAX];
static int rows_count;

struct outcome {
    bool is_called, is_returned;
    int row, error;
    long result;
    enum way ways[ARGUMENTS_MAX];
};
static struct outcome *outcomes; /* shared with the children */
static bool is_good, is_made_only;
static int probe_number;

static char printed[TEXT_MAX];
static size_t printed_bytes;

__attribute__((format(printf, 1, 2))) static void print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printed_bytes += (size_t)vsnprintf(printed + printed_bytes, sizeof printed - printed_bytes, format, arguments);
    va_end(arguments);
    if (printed_bytes >= sizeof printed)
        fail("there is no room for", "what was found");
}

/* At the same addresses in every run, for a library that takes a pointer for a number answers by what the number is. */
static char *fresh_pages(size_t count)
{
    static uintptr_t next = 0x200000000000;
    void *pages = mmap((void *)next, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages != (void *)next)
        fail("cannot map", "pages");
    next += 2 * count * PAGE;
    return pages;
}

/* Memory that ends in the middle of what lies at the address returned: `before` of its bytes are there. */
static char *at_the_end(const void *bytes, size_t before)
{
    char *pages = fresh_pages(2);
    if (before > PAGE || munmap(pages + PAGE, PAGE) != 0)
        fail("cannot map", "a page");
    return memcpy(pages + PAGE - before, bytes, before);
}

static char *with_protection(const void *bytes, size_t size, int protection)
{
    char *page = fresh_pages(1);
    if (size > PAGE)
        fail("no room in a page for", "what an argument points to");
    memcpy(page, bytes, size);
    mprotect(page, PAGE, protection);
    return page;
}

/* Far from where anything else will be mapped. */
static char *unmapped(void)
{
    char *place = (char *)0x100000000000, *page = mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, PAGE);
    return page;
}

/* Returns false where the argument cannot be bad in this way. */
static bool make_bad(struct value *value, enum way way)
{
    bool is_whole = value->size == 0; /* an object of libc's own: it stays where it is */
    size_t half = value->alignment > 1 ? value->size / 2 / 8 * 8 : value->size / 2;
    if (!value->is_pointer)
        return way == WAY_valid;
    if (value->is_code && way > WAY_null)
        return false;
    switch (way) {
    case WAY_valid: return true;
    case WAY_exact: value->word = is_whole ? 0 : (long)at_the_end(value->bytes, value->size); return !is_whole;
    case WAY_null: value->word = 0; return true;
    case WAY_ones: value->word = -1; return true;
    case WAY_unmapped: value->word = (long)unmapped(); return true;
    case WAY_guarded: value->word = (long)with_protection("", 1, PROT_NONE); return true;
    case WAY_torn: value->word = is_whole ? 0 : (long)at_the_end(value->bytes, half); return !is_whole && value->size > 1;
    case WAY_read_only: value->word = is_whole ? 0 : (long)with_protection(value->bytes, value->size, PROT_READ); return !is_whole;
    case WAY_inner:
        if (value->inner != NULL)
            *value->inner = -1;
        return value->inner != NULL;
    default: return false;
    }
}

static bool is_number(const char *kind, long *number)
{
    char *end;
    *number = strtol(kind, &end, 0);
    return *end == '\0';
}

static struct value value_of(const char *kind)
{
    struct value value = { 0 };
    if (is_number(kind, &value.word))
        return value;
    if (!make_value(kind, probe_number++, &value))
        fail("no such kind of argument:", kind);
    return value;
}

static void *function_of(const char *symbol)
{
    static const char *const old_versions[] = { "GLIBC_2.2.5", "GLIBC_2.17" };
    void *found = dlsym(RTLD_DEFAULT, symbol);
    for (size_t i = 0; found == NULL && i < sizeof old_versions / sizeof *old_versions; i++)
        found = dlvsym(RTLD_DEFAULT, symbol, old_versions[i]);
    return found;
}

typedef long any_function(long, long, long, long, long, long, long, long);

/* Whether the symbol is a library's own, and not only ours that stands in front of nothing. */
static bool is_there(const char *symbol)
{
    static const char *const libraries[] = { "libc.so.6", "libaio.so.1", "liburing.so.2", "libmpi.so.40", "libmpich.so.12" };
    static const char *const old_versions[] = { "GLIBC_2.2.5", "GLIBC_2.17" };
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
        if (library == NULL)
            continue;
        if (dlsym(library, symbol) != NULL || dlvsym(library, symbol, old_versions[0]) != NULL || dlvsym(library, symbol, old_versions[1]) != NULL)
            return true;
    }
    return false;
}

static const char *symbol_of(const struct row *row)
{
    static char symbol[100];
    snprintf(symbol, sizeof symbol, "%.*s", (int)strcspn(row->symbol, ":"), row->symbol);
    return symbol;
}

/* Returns false where an argument cannot be bad in this way. */
static bool call(const struct row *row, struct outcome *outcome)
{
    struct value values[ARGUMENTS_MAX] = { 0 };
    any_function *function = (any_function *)function_of(symbol_of(row));
    for (int i = 0; i < row->count; i++) {
        values[i] = value_of(row->kinds[i]);
        if (!make_bad(&values[i], outcome->ways[i]))
            return false;
    }
    if (is_made_only)
        return true;
    pid_t self = getpid();
    outcome->is_called = true;
    errno = 0;
    long result = function(values[0].word, values[1].word, values[2].word, values[3].word, values[4].word, values[5].word, values[6].word,
                           values[7].word);
    outcome->error = errno;
    if (row->result == PID && result == 0 && getpid() != self)
        syscall(SYS_exit_group, 0);
    outcome->result = result;
    outcome->is_returned = true;
    return true;
}

static void enter_child(int longest_seconds)
{
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    alarm(longest_seconds);
    signal(SIGSEGV, SIG_DFL); /* an MPI has a handler, which tells at length */
    int in = open("numbers", O_RDONLY), out = open("out", O_WRONLY | O_APPEND);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        fail("cannot open", "the standard streams");
}

static const char *result_of(const struct outcome *outcome)
{
    static char text[40];
    switch (rows[outcome->row].result) {
    case INT: snprintf(text, sizeof text, "%d", (int)outcome->result); return text;
    case POINTER: return outcome->result == 0 ? "NULL" : outcome->result == -1 ? "-1" : "a pointer";
    case PID: return (int)outcome->result < 0 ? "-1" : (int)outcome->result == 0 ? "0" : "a pid";
    case ERROR: return (int)outcome->result == 0 ? "0" : "an error";
    default: return "nothing";
    }
}

static void print_outcome(const struct outcome *outcome, int status)
{
    const struct row *row = &rows[outcome->row];
    print("%s(", row->symbol);
    for (int i = 0; i < row->count; i++)
        print("%s%s%s%s", i > 0 ? ", " : "", row->kinds[i], outcome->ways[i] != WAY_valid ? "=" : "",
              outcome->ways[i] != WAY_valid ? way_names[outcome->ways[i]] : "");
    if (outcome->is_returned)
        print(") = %s %s\n", result_of(outcome), outcome->error != 0 && row->result != ERROR ? strerrorname_np(outcome->error) : "-");
    else if (WIFSIGNALED(status))
        print(") killed by SIG%s\n", sigabbrev_np(WTERMSIG(status)));
    else
        print(") exited with %d\n", WEXITSTATUS(status));
}

/* As no library sees it: bookkeeping of ours would not be part of what is tested. */
static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* All that is to be tried of a row. Returns how many calls. */
static int plan(int row)
{
    int calls = 0;
    for (int i = -1; i < rows[row].count; i++)
        for (enum way way = i < 0 ? WAY_valid : WAY_exact; way < (i < 0 ? WAY_exact : WAYS_COUNT); way++) {
            long number;
            if (i >= 0 && is_number(rows[row].kinds[i], &number))
                continue;
            if (calls == CALLS_MAX)
                fail("too many calls of", rows[row].symbol);
            outcomes[calls] = (struct outcome){ .row = row };
            if (i >= 0)
                outcomes[calls].ways[i] = way;
            calls++;
        }
    return calls;
}

/* As long as calls return they share a process. Returns the number of the first call that the next process is to make. */
static int probe_from(int first, int calls)
{
    const int first_number = probe_number;
    pid_t child = fork();
    if (child == 0) {
        enter_child(LONGEST_SECONDS);
        for (int i = first; i < calls; i++) {
            probe_number = first_number + ARGUMENTS_MAX * i;
            call(&rows[outcomes[i].row], &outcomes[i]);
        }
        _exit(0);
    }
    int status = wait_for(child);
    for (int i = first; i < calls; i++) {
        if (outcomes[i].is_called)
            print_outcome(&outcomes[i], status);
        if (outcomes[i].is_called && !outcomes[i].is_returned)
            return i + 1;
    }
    if (status != 0)
        fail("cannot prepare a call of", rows[outcomes[first].row].symbol);
    return calls;
}

static void probe_all(int row)
{
    int calls = plan(row);
    for (int next = 0; next < calls;)
        next = probe_from(next, calls);
    probe_number += ARGUMENTS_MAX * CALLS_MAX;
}

static void call_all(void)
{
    enter_child(20 * LONGEST_SECONDS);
    for (int row = 0; row < rows_count; row++, probe_number += ARGUMENTS_MAX) {
        *outcomes = (struct outcome){ .row = row };
        call(&rows[row], outcomes);
        if (outcomes->is_called)
            print_outcome(outcomes, 0);
    }
}

static uint64_t random_state;

static unsigned random_below(unsigned end)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % end;
}

/* Most arguments are good, or nearly all calls would fail at once. */
static void choose(struct outcome *outcome)
{
    long number;
    memset(outcome, 0, sizeof *outcome);
    outcome->row = (int)random_below((unsigned)rows_count);
    const struct row *row = &rows[outcome->row];
    for (int i = 0; i < row->count; i++)
        if (!is_number(row->kinds[i], &number) && random_below(4) == 0)
            outcome->ways[i] = random_below(WAYS_COUNT);
}

static void probe_at_random(uint64_t seed, int calls)
{
    random_state = seed * 0x9e3779b97f4a7c15u + 1;
    memset(outcomes, 0, sizeof *outcomes * CALLS_MAX);
    pid_t child = fork();
    if (child == 0) {
        enter_child(LONGEST_SECONDS);
        for (int i = 0; i < calls; i++) {
            choose(&outcomes[i]);
            call(&rows[outcomes[i].row], &outcomes[i]);
        }
        _exit(0);
    }
    int status = wait_for(child);
    print("sequence %lu\n", (unsigned long)seed);
    for (int i = 0; i < calls; i++)
        if (outcomes[i].is_called)
            print_outcome(&outcomes[i], status);
}

static void read_row(char *line)
{
    static const char *const results[] = { "int", "pointer", "pid", "nothing", "error" };
    char *end, *place, *symbols = strsep(&line, "="), *good = is_good ? strchr(line, ':') : NULL;
    char *result = strtok_r(good != NULL ? good + 1 : line, " \n", &end);
    if (result == NULL || *result == '-') /* a reason why not */
        return;
    struct row row = { 0 };
    while (row.result < sizeof results / sizeof *results && strcmp(results[row.result], result) != 0)
        row.result++;
    while (row.count < ARGUMENTS_MAX && (row.kinds[row.count] = strtok_r(NULL, " \n", &end)) != NULL)
        row.count++;
    for (char *symbol = strtok_r(symbols, " ", &place); symbol != NULL; symbol = strtok_r(NULL, " ", &place)) {
        row.symbol = symbol;
        if (!is_good && !is_there(symbol_of(&row)))
            print("%s is not there\n", symbol);
        else if (rows_count == ROWS_MAX)
            fail("too many rows:", symbol);
        else
            rows[rows_count++] = row;
    }
}

static void read_table(const char *path)
{
    static char text[1 << 17];
    int fd = open(path, O_RDONLY);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    if (bytes <= 0)
        fail("cannot read", path);
    close(fd);
    char *at = text;
    for (char *line; (line = strsep(&at, "\n")) != NULL;)
        if (line[0] != '#' && line[0] != '\0' && is_own_row(line))
            read_row(line);
}

int main(int argc, char **argv)
{
    outcomes = mmap(NULL, CALLS_MAX * sizeof *outcomes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc != 2 && argc != 3 && argc != 5)
        fail("usage:", "bad_pointers TABLE [SEED CALLS SEQUENCES | good | made]");
    is_good = argc == 3;
    if (is_good)
        scenario_begin();
    is_made_only = is_good && strcmp(argv[2], "made") == 0;
    prepare(&argc, &argv);
    read_table(argv[1]);
    int told = dup(1);
    if (is_good)
        call_all();
    else if (argc == 2)
        for (int row = 0; row < rows_count; row++)
            probe_all(row);
    else
        for (int i = 0; i < atoi(argv[4]); i++)
            probe_at_random(strtoull(argv[2], NULL, 10) + (uint64_t)i, atoi(argv[3]) < CALLS_MAX ? atoi(argv[3]) : CALLS_MAX);
    if (write(told, printed, printed_bytes) != (ssize_t)printed_bytes)
        fail("cannot write", "what was found");
    if (is_good)
        scenario_end();
    finish();
    return 0;
}
