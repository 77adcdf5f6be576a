/* The pages of docs/ that are made from the lists of schema/. */
#include "lists.h"

#include <ctype.h>
#include <string.h>

/* The next of the words of a list, which `at` moves along. Returns its length, 0 at the end. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

enum { PAGE_COLUMNS = 100 };

/* Text on lines of a page, those after the first one begun with `indent`. `column`: where it begins. Returns where it ends. */
static size_t print_wrapped(FILE *out, const char *text, size_t column, const char *indent)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column > strlen(indent) && column + 1 + length > PAGE_COLUMNS)
            column = (size_t)fprintf(out, "\n%s", indent) - 1;
        else if (column > strlen(indent))
            column += (size_t)fprintf(out, " ");
        column += (size_t)fprintf(out, "%.*s", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    return column;
}

/* A histogram's lower edges, with their unit. */
static void print_edges(FILE *out, const struct row *row, size_t column)
{
    size_t length;
    column = print_wrapped(out, strcmp(row->edges, "sizes") == 0 ? "Lower edges in bytes:" : "Lower edges in ns:", column, "  ");
    for (const char *at = edges_in_file(row->edges); (length = next_word(&at)) > 0; at += length) {
        char edge[64];
        bool is_last = at[length + strspn(at + length, " ")] == '\0';
        snprintf(edge, sizeof edge, "%.*s%s", (int)length, at, is_last ? "." : ",");
        column = print_wrapped(out, edge, column, "  ");
    }
}

/* A name without the kind of call in it, into `rest`. Returns whether there is one. */
static bool without_kind(const char *name, char rest[64])
{
    static const char *const kinds[] = { "read_", "write_", "meta_", "sync_" };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const char *at = strstr(name, kinds[i]);
        if (at != NULL && (at == name || at[-1] == '_')) {
            snprintf(rest, 64, "%.*s*%s", (int)(at - name), name, at + strlen(kinds[i]));
            return true;
        }
    }
    return false;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Where two texts differ: so many bytes before and after that are equal, up to a word's edge. */
static void find_difference(const char *one, const char *other, size_t *before, size_t *after)
{
    size_t lengths[] = { strlen(one), strlen(other) }, shorter = lengths[0] < lengths[1] ? lengths[0] : lengths[1];
    for (*before = 0; *before < shorter && one[*before] == other[*before];)
        ++*before;
    while (*before > 0 && is_of_word(one[*before - 1]))
        --*before;
    for (*after = 0; *after < shorter - *before && one[lengths[0] - *after - 1] == other[lengths[1] - *after - 1];)
        ++*after;
    while (*after > 0 && is_of_word(one[lengths[0] - *after]))
        --*after;
}

/* Whether so many bytes are at most two words, with nothing between them. */
static bool is_short(const char *text, size_t length)
{
    size_t spaces = 0;
    for (size_t i = 0; i < length; i++) {
        spaces += text[i] == ' ';
        if (text[i] == ',' || spaces > 1)
            return false;
    }
    return true;
}

/* Whether two columns differ in the kind of call alone, and their meanings in two words at most. */
static bool differ_in_kind(const struct row *one, const struct row *other)
{
    char rests[2][64];
    size_t before, after;
    if (strcmp(one->table, other->table) != 0 || !without_kind(one->name, rests[0]) || !without_kind(other->name, rests[1]) ||
        strcmp(rests[0], rests[1]) != 0 || strcmp(one->unit, other->unit) != 0 || strcmp(one->merge, other->merge) != 0)
        return false;
    find_difference(one->meaning, other->meaning, &before, &after);
    return is_short(one->meaning + before, strlen(one->meaning) - before - after) &&
           is_short(other->meaning + before, strlen(other->meaning) - before - after);
}

static void print_name(FILE *out, const struct row *row, size_t *column)
{
    char name[64];
    if (row->bins > 0)
        snprintf(name, sizeof name, "`%s_0..%d`", row->name, row->bins - 1);
    else
        snprintf(name, sizeof name, "`%s`", row->name);
    *column = print_wrapped(out, name, *column, "  ");
}

/* An item of a table's columns: "- `name` (unit, MERGE): meaning"; `usual_merge` and count are not said. Columns that differ in the kind
 * of call alone share the first one's item, with strokes between what differs. `rows` begin with a table's first column. */
static void print_row_in_words(FILE *out, const struct row *rows, size_t count, size_t at, const char *usual_merge)
{
    const struct row *row = &rows[at], *same[4] = { row };
    size_t found = 1, before = strlen(row->meaning), after = 0;
    for (size_t i = 0; i < at; i++)
        if (differ_in_kind(&rows[i], row))
            return;
    for (size_t i = at + 1; i < count && found < COUNT_OF(same); i++)
        if (differ_in_kind(row, &rows[i])) {
            size_t ahead, behind;
            find_difference(row->meaning, rows[i].meaning, &ahead, &behind);
            before = ahead < before ? ahead : before;
            after = found == 1 || behind < after ? behind : after;
            same[found++] = &rows[i];
        }
    char about[64] = ":", text[512];
    size_t column = (size_t)fprintf(out, "- ");
    for (size_t i = 0; i < found; i++)
        print_name(out, same[i], &column);
    const char *unit = unit_in_file(row->unit);
    bool is_usual = strcmp(row->merge, usual_merge) == 0;
    if (strcmp(unit, "count") == 0)
        unit = "";
    if (unit[0] != '\0' || !is_usual)
        snprintf(about, sizeof about, " (%s%s%s):", unit, unit[0] != '\0' && !is_usual ? ", " : "", is_usual ? "" : row->merge);
    column += (size_t)fprintf(out, "%s", about);
    size_t length = (size_t)snprintf(text, sizeof text, "%.*s", (int)before, row->meaning);
    for (size_t i = 0; i < found; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.*s", i > 0 ? "/" : "", (int)(strlen(same[i]->meaning) - before - after),
                                   same[i]->meaning + before);
    snprintf(text + length, sizeof text - length, "%s", row->meaning + strlen(row->meaning) - after);
    column = print_wrapped(out, text, column, "  ");
    if (row->bins > 0)
        print_edges(out, row, (size_t)fprintf(out, ".") + column);
    fprintf(out, "\n");
}

enum { FEWEST_USUAL = 3 };

/* Whether two columns of tables have one name and one meaning. */
static bool are_equal(const struct row *one, const struct row *other)
{
    return other->kind == ROW_COLUMN && strcmp(one->name, other->name) == 0 && strcmp(one->meaning, other->meaning) == 0 &&
           strcmp(one->unit, other->unit) == 0 && strcmp(one->merge, other->merge) == 0;
}

/* Whether so many tables have this column that it is explained once. */
static bool is_usual(const struct row *row)
{
    size_t found = 0;
    for (size_t i = 0; i < COUNT_OF(table_rows); i++)
        found += are_equal(row, &table_rows[i]);
    return found >= FEWEST_USUAL;
}

static bool is_first(const struct row *row)
{
    const struct row *first = table_rows;
    while (!are_equal(row, first))
        first++;
    return first == row;
}

/* The usual columns of a table, whose own columns begin at `at`: their names alone. */
static void print_usual_names(FILE *out, size_t at)
{
    size_t column = 0;
    for (; at < COUNT_OF(table_rows) && table_rows[at].kind == ROW_COLUMN; at++)
        if (is_usual(&table_rows[at])) {
            if (column == 0)
                column = (size_t)fprintf(out, "- usual:");
            print_name(out, &table_rows[at], &column);
            if (strcmp(table_rows[at].merge, "KEY") == 0)
                column = print_wrapped(out, "(KEY)", column, "  ");
        }
    if (column > 0)
        fprintf(out, "\n");
}

void print_counters_page(FILE *out)
{
    fprintf(out, "# Tables, counters and names\n\n"
                 "The tables that a profile holds, and the names of its numbers. [digest.md](digest.md) has\n"
                 "the tables that analyses use; [names of problems](#names-of-mishaps) says what to do then.\n"
                 "[`slicewise.read_tables`](python.md#slicewiseread_tables) reads these. The library writes\n"
                 "those of processes, `slicewise run` `launches`, a collector `nodes` and all that begin with `node_`.\n\n"
                 "- Each row belongs to one process. *KEY* columns, with the process, tell its rows apart.\n"
                 "- The latest row with the same keys replaces the others (with the key `number` the rows of a\n"
                 "  slice add up). In tables with *rows: ADD* such rows are parts of one, to be added up.\n"
                 "- *SUM, MAX, LAST* merge two values: their sum, the larger, the later. The default is SUM in\n"
                 "  tables whose rows add up, else LAST. Columns without a unit are plain counts, or names.\n"
                 "- A call that spans slices has its bytes and time in each, in proportion to time; all else is in\n"
                 "  the slice in which it ended.\n"
                 "- A *look* is one reading of a process's counts in `/proc/PID/io`. Do not add all *layers*:\n"
                 "  [format.md](format.md#slices) says which add up. *ps*: a thousandth of a ns.\n"
                 "- `_0..9`: the bins of a histogram. \"0, 128, doubling\": lower edges 0, 128, 256, 512 and so on.\n"
                 "- *usual* columns are explained [below](#usual-columns).\n");
    const char *table = NULL, *usual_merge = NULL;
    for (size_t i = 0; i < COUNT_OF(table_rows); i++) {
        const struct row *row = &table_rows[i];
        if (row->kind == ROW_COLUMN) {
            if (!is_usual(row))
                print_row_in_words(out, table_rows, COUNT_OF(table_rows), i, usual_merge);
            continue;
        }
        if (table != NULL && strcmp(table, "slices") == 0)
            for (size_t c = 0; c < COUNT_OF(counter_rows); c++)
                print_row_in_words(out, counter_rows, COUNT_OF(counter_rows), c, usual_merge);
        fprintf(out, "\n## %s\n\n", row->name);
        size_t column = print_wrapped(out, row->meaning, 0, "");
        bool adds_up = strcmp(row->merge, "ADD") == 0;
        if (adds_up)
            print_wrapped(out, "(rows: ADD)", column, "");
        fprintf(out, "\n\n");
        print_usual_names(out, i + 1);
        table = row->name;
        usual_merge = adds_up ? "SUM" : "LAST";
    }
    fprintf(out, "\n## Usual columns\n\n");
    for (size_t i = 0; i < COUNT_OF(table_rows); i++)
        if (table_rows[i].kind == ROW_COLUMN && is_usual(&table_rows[i]) && is_first(&table_rows[i]))
            fprintf(out, "- `%s`: %s\n", table_rows[i].name, table_rows[i].meaning);
    for (size_t e = 0; e < COUNT_OF(enumerations); e++) {
        bool is_advised = enumerations[e].entries == problems;
        fprintf(out, "\n## Names of %s\n\n%s", enumerations[e].name, is_advised ? "What happened. Then what that means, and what to do.\n\n" : "");
        for (size_t i = 0; i < enumerations[e].count; i++) {
            const struct named *entry = &enumerations[e].entries[i];
            size_t column = (size_t)fprintf(out, "- `%s`", entry->name);
            for (char name[128]; i + 1 < enumerations[e].count && strcmp(entry->meaning, enumerations[e].entries[i + 1].meaning) == 0; i++) {
                snprintf(name, sizeof name, "`%s`", enumerations[e].entries[i + 1].name); /* names that mean the same */
                column = print_wrapped(out, name, column, "  ");
            }
            column += (size_t)fprintf(out, ":");
            column = print_wrapped(out, entry->meaning, column, "  ");
            if (is_advised)
                print_wrapped(out, advices[i], column + (size_t)fprintf(out, "."), "  ");
            fprintf(out, "\n");
        }
    }
    fprintf(out, "\n## Names of operations\n\n[coverage.md](coverage.md#function-by-function) lists them, each with its layer, its kind and\n"
                 "the symbols that count as it.\n");
}

static bool has_word(const char *list, const char *word, size_t length)
{
    size_t candidate;
    for (const char *at = list; (candidate = next_word(&at)) > 0; at += candidate)
        if (candidate == length && strncmp(at, word, length) == 0)
            return true;
    return false;
}

static bool is_ours(const char *symbol, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        if (has_word(operations[i].symbols, symbol, length))
            return true;
    return false;
}

/* Whether a symbol is glibc's own name of a function, by which headers call it. */
static bool is_inner(const char *symbol)
{
    return strncmp(symbol, "__", 2) == 0 || strncmp(symbol, "_IO_", 4) == 0;
}

/* A function and, in brackets, the other symbols that count as it. Returns the column behind it. */
static size_t print_function(FILE *out, const struct operation *operation, size_t column)
{
    char text[512], large[128];
    snprintf(large, sizeof large, "%s_c", operation->name);
    bool is_open = false, has_large = has_word(operation->symbols, large, strlen(large));
    size_t length, at_end = (size_t)snprintf(text, sizeof text, "`%s%s`", operation->name, has_large ? "[_c]" : "");
    for (const char *at = operation->symbols; (length = next_word(&at)) > 0; at += length) {
        bool is_name = length == strlen(operation->name) && strncmp(at, operation->name, length) == 0;
        bool is_large = length == strlen(large) && strncmp(at, large, length) == 0;
        if (!is_name && !is_large && !is_inner(at)) {
            at_end += (size_t)snprintf(text + at_end, sizeof text - at_end, "%s`%.*s`", is_open ? " " : " (", (int)length, at);
            is_open = true;
        }
    }
    snprintf(text + at_end, sizeof text - at_end, "%s", is_open ? ")" : "");
    return print_wrapped(out, text, column, "  ");
}

static const char *print_class(FILE *out, const char *class)
{
    fprintf(out, "| %s | ", class);
    return "";
}

void print_coverage_page(FILE *out)
{
    size_t length, symbols = 0, requests = 0, shared[COUNT_OF(wraps)] = { 0 }, theirs[COUNT_OF(wraps)] = { 0 };
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        requests += operations[i].symbols[0] == '\0';
        for (const char *at = operations[i].symbols; (length = next_word(&at)) > 0; at += length) {
            symbols++;
            for (size_t peer = 0; peer < COUNT_OF(wraps); peer++)
                shared[peer] += has_word(wraps[peer].symbols, at, length);
        }
    }
    for (size_t peer = 0; peer < COUNT_OF(wraps); peer++)
        for (const char *at = wraps[peer].symbols; (length = next_word(&at)) > 0; at += length)
            theirs[peer]++;

    fprintf(out,
            "# Functions that are covered\n\n"
            "Programs that call the C library, C++'s streams, MPI-IO in C or Fortran, or a library such as HDF5\n"
            "on top of these are covered; [what no function shows](#what-no-function-shows) is not.\n\n"
            "Slicewise intercepts %zu functions besides [communication of MPI](#communication-of-mpi), and counts\n"
            "%zu kinds of asynchronous requests. With their other names in the C library (`open`, `open64`, ...)\n"
            "these are %zu *symbols*. MPI-IO is intercepted by its Fortran names, too. Other profilers, by\n"
            "their sources:\n\n"
            "| profiler | version | its symbols | of these Slicewise has | its list | remarks |\n|---|---|---|---|---|---|\n",
            COUNT_OF(operations) - requests, requests, symbols);
    for (size_t peer = 0; peer < COUNT_OF(peers); peer++)
        fprintf(out, "| %s | %s | %zu | %zu | %s | %s |\n", peers[peer].name, peers[peer].version, theirs[peer], shared[peer], peers[peer].source,
                peers[peer].note);

    fprintf(out, "\n## What no function shows\n\nBesides [what a user meets](limits.md):\n\n| what is not covered | why | what shows it all the same "
                 "|\n|---|---|---|\n");
#define UNSEEN(calls, why, told_by) fprintf(out, "| %s | %s | %s |\n", calls, why, told_by);
#include "unseen.def"

    fprintf(out, "\n## Function by function\n\nIn brackets are the other symbols that count as a function. glibc's own names\n"
                 "(`__read_chk`, `_IO_fread`, `__isoc99_fscanf`, ...) count likewise; `[_c]`: also with large counts.\n"
                 "[counters.md](counters.md#names-of-layers) explains the layers. A call of the kind\n\n");
    for (size_t kind = 0; kind < COUNT_OF(call_kinds); kind++) {
        size_t column = (size_t)fprintf(out, "- *%s*", call_kinds[kind].name);
        print_wrapped(out, call_kinds[kind].meaning, column, "  ");
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
    for (size_t layer = 0; layer < COUNT_OF(layers); layer++)
        for (size_t kind = 0; kind < COUNT_OF(call_kinds); kind++) {
            size_t column = 0;
            for (size_t i = 0; i < COUNT_OF(operations); i++)
                if (strcmp(operations[i].layer, layers[layer].name) == 0 && strcmp(operations[i].kind, call_kinds[kind].name) == 0) {
                    if (column == 0)
                        column = (size_t)fprintf(out, "- %s, %s:", operations[i].layer, operations[i].kind);
                    column = print_function(out, &operations[i], column);
                }
            if (column > 0)
                fprintf(out, "\n");
        }

    fprintf(out, "\n## Communication of MPI\n\n"
                 "Slicewise counts these functions by class and slice (the table `communication`), unless\n"
                 "`SLICEWISE_MPI=io`. It sees calls from C, with large counts (`_c`) where the table says so, and\n"
                 "calls by two Fortran names, `mpi_..._` and `mpi_..._f08_`. `MPI_Wait`, `MPI_Test` and their like,\n"
                 "`MPI_Init` and `MPI_Finalize` are listed above, since they complete I/O or begin a process.\n\n"
                 "| class | functions |\n|---|---|\n");
    for (size_t c = 0; c < COUNT_OF(mpi_classes); c++) {
        size_t functions = 0;
        for (size_t i = 0; i < COUNT_OF(communications); i++)
            if (strcmp(communications[i].class, mpi_classes[c].name) == 0)
                fprintf(out, "%s`%s%s`", functions++ == 0 ? print_class(out, mpi_classes[c].name) : " ", communications[i].name,
                        communications[i].is_counting ? "[_c]" : "");
        if (functions > 0)
            fprintf(out, " |\n");
    }

    fprintf(out,
            "\n## I/O libraries\n\n"
            "Slicewise counts calls of shared libraries of HDF5, PnetCDF, netCDF-C and ADIOS2 (C, and C++'s\n"
            "engine) with their time and what of it passes in calls on files and in MPI, by [%zu\n"
            "functions](counters.md#names-of-library_functions) (%zu symbols), unless `SLICEWISE_LIBRARIES=0`.\n"
            "It does not see static libraries, what finds a function by `dlsym` (Julia), and calls that only\n"
            "put work off (`H5Dwrite_async`, `ncmpi_iput_...`).\n",
            COUNT_OF(library_functions), COUNT_OF(library_symbols));

    fprintf(out, "\n## Covered elsewhere, not here\n\nSymbols that another profiler intercepts and Slicewise does not.\n"
                 "None of them transfers bytes.\n\n");
    for (size_t peer = 0; peer < COUNT_OF(wraps); peer++) {
        size_t column = (size_t)fprintf(out, "- %s:", peers[peer].name), missing = 0;
        for (const char *at = wraps[peer].symbols; (length = next_word(&at)) > 0; at += length)
            if (!is_ours(at, length)) {
                char symbol[128];
                snprintf(symbol, sizeof symbol, "`%.*s`", (int)length, at);
                column = print_wrapped(out, symbol, column, "  ");
                missing++;
            }
        fprintf(out, missing > 0 ? "\n" : " none\n");
    }
}
