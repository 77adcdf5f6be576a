/* Turns the lists of schema/ into what cannot be had from the preprocessor alone. Runs at build time.
 *   generate json       the schema frame's payload
 *   generate frame      the same as a C array: a complete frame with its envelope, ready to be written
 *   generate exports    the version script of the library: the interposed symbols and nothing else
 *   generate counters   docs/counters.md
 *   generate coverage   docs/coverage.md
 *   generate contract   analyzer/slicewise/contract.json: what the analyzer must know beside what a profile tells
 *   generate bins       the table by which the engine finds the bin of a transfer's size */
#include "format.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* clang-format off */
struct named { const char *name, *meaning; };
struct operation { const char *name, *layer, *kind, *symbols; };

#define ENTRY(name, meaning) { #name, meaning },
#define LAYER(name, part, meaning) { #name, meaning },
static const struct named layers[] = {
#include "enums.def"
};
#define LAYER(name, part, meaning) #part,
static const char *const layer_parts[] = {
#include "enums.def"
};
#define CALL_KIND ENTRY
static const struct named call_kinds[] = {
#include "enums.def"
};
#define OBJECT ENTRY
static const struct named objects[] = {
#include "enums.def"
};
#define ENDING ENTRY
static const struct named endings[] = {
#include "enums.def"
};
#define PLACE ENTRY
static const struct named places[] = {
#include "enums.def"
};
#define CLOCK ENTRY
static const struct named clocks[] = {
#include "enums.def"
};
#define REASON ENTRY
static const struct named reasons[] = {
#include "enums.def"
};
#define DEVICE ENTRY
static const struct named devices[] = {
#include "enums.def"
};
#define MPI_CLASS ENTRY
static const struct named mpi_classes[] = {
#include "enums.def"
};
#define MISHAP(name, said, meaning, advice) { #name, meaning },
static const struct named mishaps[] = {
#include "mishaps.def"
};
#define MISHAP(name, said, meaning, advice) advice,
static const char *const advices[] = {
#include "mishaps.def"
};
#define OPERATION(name, layer, kind, symbols) { #name, #layer, #kind, symbols },
static const struct operation operations[] = {
#include "operations.def"
};

/* Functions of MPI that communicate; `is_counting`: with a form for large counts. */
static const struct communication { const char *name, *class; int is_counting; } communications[] = {
#define TRANSFER(name, lower, class, words, fortran_words, bytes, counts) { #name, #class, 1 },
#define COMMUNICATION(name, lower, class, words, fortran_words, bytes) { #name, #class, 0 },
#include "communication.def"
};

static const struct { const char *name, *variable, *type, *standard; double least, most; const char *meaning; } settings[] = {
#define SETTING(name, variable, type, standard, least, most, meaning) { #name, variable, #type, standard, least, most, meaning },
#include "settings.def"
};
#define SIZE_BIN(most) most,
static const uint64_t size_bin_ends[] = {
#include "contract.def"
};
#define NAMED(table, column) { #table, #column },
static const struct { const char *table, *column; } named_columns[] = {
#include "contract.def"
};
#define JOB_NAME(most_bytes, plain) { most_bytes, plain },
static const struct { int most_bytes; const char *plain; } job_names[] = {
#include "contract.def"
};

/* Other profilers, and the symbols that they intercept. */
static const struct { const char *id, *name, *version, *source, *note; } peers[] = {
#define PEER(id, name, version, source, note) { #id, name, version, source, note },
#define WRAPS(id, symbols)
#include "peers.def"
};
static const struct { const char *id, *symbols; } wraps[] = {
#define PEER(id, name, version, source, note)
#define WRAPS(id, symbols) { #id, symbols },
#include "peers.def"
};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
/* clang-format on */
_Static_assert(COUNT_OF(peers) == COUNT_OF(wraps), "every peer has its list, in the same order");

static const struct {
    const char *name;
    const struct named *entries;
    size_t count;
} enumerations[] = {
    { "layers", layers, COUNT_OF(layers) },    { "objects", objects, COUNT_OF(objects) }, { "endings", endings, COUNT_OF(endings) },
    { "places", places, COUNT_OF(places) },    { "clocks", clocks, COUNT_OF(clocks) },    { "mishaps", mishaps, COUNT_OF(mishaps) },
    { "reasons", reasons, COUNT_OF(reasons) }, { "devices", devices, COUNT_OF(devices) }, { "mpi_classes", mpi_classes, COUNT_OF(mpi_classes) },
};

enum row_kind { ROW_TABLE, ROW_COLUMN };
struct row {
    enum row_kind kind;
    const char *table, *name, *type, *unit, *merge, *meaning, *enumeration;
    int bins;
    const char *edges;
};
static const struct row table_rows[] = {
#define TABLE(name, rows, meaning) { ROW_TABLE, #name, #name, NULL, NULL, #rows, meaning, NULL, 0, NULL },
#define COLUMN(table, name, type, unit, merge, ...) \
    { ROW_COLUMN, #table, #name, #type, #unit, #merge, MEANING(__VA_ARGS__, ), ENUMERATION(__VA_ARGS__, , ), 0, NULL },
#define MEANING(meaning, ...) meaning
#define ENUMERATION(meaning, enumeration, ...) #enumeration
#include "tables.def"
};
static const struct row counter_rows[] = {
#define COUNTER(name, unit, merge, meaning) { ROW_COLUMN, "slices", #name, "U64", #unit, #merge, meaning, "", 0, NULL },
#define BINS(name, bins, unit, merge, meaning, edges) { ROW_COLUMN, "slices", #name, "U64", #unit, #merge, meaning, "", bins, edges },
#include "counters.def"
};

static const char *unit_in_file(const char *unit)
{
    static const struct named units[] = { { "COUNT", "count" }, { "BYTES", "bytes" }, { "NS", "ns" }, { "PS", "ps" }, { "THREADS", "threads" } };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].meaning;
    return "";
}

/* Lower edges of bins as the file names them. */
static const char *edges_in_file(const char *edges)
{
    static char sizes[256];
    if (strcmp(edges, "sizes") != 0)
        return edges;
    int length = snprintf(sizes, sizeof sizes, "0");
    for (size_t i = 0; i < COUNT_OF(size_bin_ends); i++)
        length += snprintf(sizes + length, sizeof sizes - (size_t)length, " %" PRIu64, size_bin_ends[i] + 1);
    return sizes;
}

static void print_column(FILE *out, const struct row *row, const char *separator)
{
    fprintf(out, "%s\n    {\"name\": \"%s\", \"type\": \"%s\", \"unit\": \"%s\", \"merge\": \"%s\"", separator, row->name, row->type,
            unit_in_file(row->unit), row->merge);
    if (row->enumeration[0] != '\0')
        fprintf(out, ", \"enumeration\": \"%s\"", row->enumeration);
    if (row->bins > 0)
        fprintf(out, ", \"bins\": %d, \"edges\": \"%s\"", row->bins, edges_in_file(row->edges));
    fprintf(out, ", \"meaning\": \"%s\"}", row->meaning);
}

static void print_counters(FILE *out)
{
    for (size_t i = 0; i < COUNT_OF(counter_rows); i++)
        print_column(out, &counter_rows[i], ",");
}

static void print_json(FILE *out)
{
    fprintf(out, "{\"format\": %d, \"writer\": \"slicewise %s\",\n \"enumerations\": {", FORMAT_VERSION, SLICEWISE_VERSION);
    for (size_t e = 0; e < COUNT_OF(enumerations); e++) {
        fprintf(out, "%s\n  \"%s\": [", e > 0 ? "," : "", enumerations[e].name);
        for (size_t i = 0; i < enumerations[e].count; i++)
            fprintf(out, "%s\n   {\"name\": \"%s\", \"meaning\": \"%s\"}", i > 0 ? "," : "", enumerations[e].entries[i].name,
                    enumerations[e].entries[i].meaning);
        fprintf(out, "]");
    }
    fprintf(out, ",\n  \"operations\": [");
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        fprintf(out, "%s\n   {\"name\": \"%s\", \"layer\": \"%s\", \"kind\": \"%s\"}", i > 0 ? "," : "", operations[i].name, operations[i].layer,
                operations[i].kind);
    fprintf(out, "]},\n \"tables\": [");
    const char *table = NULL, *separator = "";
    for (size_t i = 0; i < COUNT_OF(table_rows); i++) {
        const struct row *row = &table_rows[i];
        if (row->kind == ROW_COLUMN) {
            print_column(out, row, separator);
            separator = ",";
            continue;
        }
        if (table != NULL && strcmp(table, "slices") == 0)
            print_counters(out);
        fprintf(out, "%s\n  {\"name\": \"%s\", \"rows\": \"%s\", \"meaning\": \"%s\", \"columns\": [", table != NULL ? "]}," : "", row->name,
                row->merge, row->meaning);
        table = row->name;
        separator = "";
    }
    fprintf(out, "]}]}\n");
}

static void print_frame(FILE *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    print_json(memory);
    fclose(memory);

    size_t room = ZSTD_compressBound(size);
    unsigned char *packed = malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 19);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t packed_size = ZSTD_compress2(context, packed, room, text, size);
    if (ZSTD_isError(packed_size)) {
        fprintf(stderr, "generate: %s\n", ZSTD_getErrorName(packed_size));
        exit(1);
    }
    uint32_t id = format_crc32(text, size);
    struct format_envelope envelope;
    format_envelope_fill(&envelope, 0, 0, (uint32_t)packed_size, id, 0);

    fprintf(out, "#define SCHEMA_ID 0x%08xu\n#ifdef WITH_SCHEMA_FRAME\nstatic const unsigned char schema_frame[] = {", id);
    for (size_t i = 0; i < sizeof envelope + packed_size; i++)
        fprintf(out, "%s%d,", i % 24 == 0 ? "\n    " : "", i < sizeof envelope ? ((unsigned char *)&envelope)[i] : packed[i - sizeof envelope]);
    fprintf(out, "\n};\n#endif\n");
    ZSTD_freeCCtx(context);
    free(packed);
    free(text);
}

static void print_contract(FILE *out)
{
    fprintf(out, "{\n \"layers\": {");
    for (size_t i = 0; i < COUNT_OF(layers); i++)
        fprintf(out, "%s\n  \"%s\": \"%s\"", i > 0 ? "," : "", layers[i].name, layer_parts[i]);
    fprintf(out, "\n },\n \"size_bins\": [");
    for (size_t i = 0; i < COUNT_OF(size_bin_ends); i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? ", " : "", size_bin_ends[i]);
    fprintf(out, "],\n \"job_name\": {\"most_bytes\": %d, \"plain\": \"%s\"},\n \"named\": [", job_names[0].most_bytes, job_names[0].plain);
    for (size_t i = 0; i < COUNT_OF(named_columns); i++)
        fprintf(out, "%s\"%s.%s\"", i > 0 ? ", " : "", named_columns[i].table, named_columns[i].column);
    fprintf(out, "],\n \"settings\": {");
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        fprintf(out, "%s\n  \"%s\": {\"name\": \"%s\", \"type\": \"%s\", \"default\": \"%s\", \"least\": %g, \"most\": %g,\n   \"meaning\": \"%s\"}",
                i > 0 ? "," : "", settings[i].variable, settings[i].name, settings[i].type, settings[i].standard, settings[i].least, settings[i].most,
                settings[i].meaning);
    fprintf(out, "\n },\n \"advice\": {");
    for (size_t i = 0; i < COUNT_OF(mishaps); i++)
        fprintf(out, "%s\n  \"%s\": \"%s\"", i > 0 ? "," : "", mishaps[i].name, advices[i]);
    fprintf(out, "\n }\n}\n");
}

static size_t size_bin(uint64_t bytes)
{
    size_t bin = 0;
    while (bin < COUNT_OF(size_bin_ends) && bytes > size_bin_ends[bin])
        bin++;
    return bin;
}

/* By the number of a size's highest bit: the lowest bin that it can be, and that bin's upper end. No size is in one of two bins further. */
static void print_bins(FILE *out)
{
    fprintf(out, "#define SIZE_BIN_0_END %" PRIu64 "\n#define SIZE_BINS_BY_BIT ", size_bin_ends[0]);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t least = bit > 0 ? UINT64_C(1) << bit : 0, most = least + (least > 0 ? least - 1 : 1);
        size_t bin = size_bin(least);
        if (size_bin(most) > bin + 1) {
            fprintf(stderr, "generate: sizes of %d bits are in more than two bins\n", bit + 1);
            exit(1);
        }
        fprintf(out, "%s\\\n    .bin[%d] = %zu, .upper_end[%d] = UINT64_C(%" PRIu64 ")", bit > 0 ? ", " : "", bit, bin, bit,
                bin < COUNT_OF(size_bin_ends) ? size_bin_ends[bin] : UINT64_MAX);
    }
    fprintf(out, "\n");
}

/* Fortran has no names of their own for large counts. */
static int has_fortran_names(const char *symbol)
{
    size_t length = strlen(symbol);
    return strncmp(symbol, "MPI_", 4) == 0 && strcmp(symbol + length - 2, "_c") != 0;
}

static void print_folded(FILE *out, const char *symbol, int (*fold)(int), const char *suffix)
{
    fprintf(out, "    ");
    for (const char *at = symbol; *at != '\0'; at++)
        fputc(fold((unsigned char)*at), out);
    fprintf(out, "%s;\n", suffix);
}

static void print_exports(FILE *out)
{
    fprintf(out, "{\nglobal:\n");
    /* No functions that are intercepted: AddressSanitizer's runtime asks for the one, libslicewise-coordinate.so for the other. */
    fprintf(out, "    __asan_default_options;\n    slicewise_count_wait;\n");
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        char *symbols = strdup(operations[i].symbols);
        for (char *symbol = strtok(symbols, " "); symbol != NULL; symbol = strtok(NULL, " ")) {
            fprintf(out, "    %s;\n", symbol);
            if (!has_fortran_names(symbol))
                continue;
            print_folded(out, symbol, toupper, "");
            print_folded(out, symbol, tolower, "");
            print_folded(out, symbol, tolower, "_");
            print_folded(out, symbol, tolower, "__");
            print_folded(out, symbol, tolower, "_f08_");
        }
        free(symbols);
    }
    for (size_t i = 0; i < COUNT_OF(communications); i++) {
        fprintf(out, "    %s;\n", communications[i].name);
        if (communications[i].is_counting)
            fprintf(out, "    %s_c;\n", communications[i].name);
        print_folded(out, communications[i].name, tolower, "_");
        print_folded(out, communications[i].name, tolower, "_f08_");
    }
    fprintf(out, "local:\n    *;\n};\n");
}

/* The next of the words of a list, which `at` moves along. Returns its length, 0 at the end. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

/* A histogram's lower edges, with their unit. */
static void print_edges(FILE *out, const struct row *row)
{
    size_t length;
    const char *edges = edges_in_file(row->edges);
    fprintf(out, "; lower edges in %s:", strcmp(row->edges, "sizes") == 0 ? "bytes" : "ns");
    for (const char *at = edges; (length = next_word(&at)) > 0; at += length)
        fprintf(out, "%s %.*s", at == edges ? "" : ",", (int)length, at);
}

static void print_row_in_words(FILE *out, const struct row *row)
{
    char name[64];
    if (row->bins > 0)
        snprintf(name, sizeof name, "%s_0..%d", row->name, row->bins - 1);
    else
        snprintf(name, sizeof name, "%s", row->name);
    fprintf(out, "| `%s` | %s | %s | %s", name, unit_in_file(row->unit), row->merge, row->meaning);
    if (row->bins > 0)
        print_edges(out, row);
    fprintf(out, " |\n");
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

static void print_counters_page(FILE *out)
{
    fprintf(out, "# Tables, counters and names\n\n"
                 "The tables that a profile holds, with their columns. Then come the names for which a profile has\n"
                 "numbers: layers, mishaps and others. In a hurry? [digest.md](digest.md) has the tables that analyses\n"
                 "use, and [names of mishaps](#names-of-mishaps) says what to do about what went wrong.\n\n"
                 "The library writes the tables of processes, `slicewise run` writes `launches`. A collector writes\n"
                 "`nodes` and all tables that begin with `node_`; two of them need root, as they say. `slicewise\n"
                 "export --table` writes some tables as CSV or Parquet, and `slicewise.read_tables` reads all of them\n"
                 "in Python ([python.md](python.md)). `make docs` makes this page from `schema/`.\n\n"
                 "| word | meaning |\n|---|---|\n"
                 "| process | every row belongs to one process, which the file names by an id that no two processes share |\n"
                 "| KEY | a column that, with the process, tells a row from the others of its table |\n"
                 "| rows: ADD | rows with the same keys are parts of one: add them up, each column as its merge rule says |\n"
                 "| rows: LAST | a row is written again as it grows: of rows with the same keys the latest replaces the others, whatever the merge "
                 "rules say. If the key is `number`, a slice may have several rows with different numbers: these add up |\n"
                 "| SUM, MAX, LAST | the merge rules, how two values become one: their sum, the larger, or the later |\n"
                 "| a call that spans slices | has its bytes and its time in each of them, in proportion to time. All else of it (that it is a call, "
                 "how long it took as a whole, its bins) is in the slice in which it ended |\n"
                 "| a look | one reading of a process's counts, by the collector in `/proc/PID/io`, by the library in its own process |\n"
                 "| layer | the interface by which a program did I/O. Do not add all layers: [format.md](format.md#slices) says which add up |\n"
                 "| ns, ps | nanoseconds, and thousandths of these |\n"
                 "| `_0..9` | columns of one kind: the bins of a histogram, with the lower edges that the meaning lists |\n"
                 "| 0, 128, doubling | lower edges: 0, 128, 256, 512 and so on |\n");
    fprintf(out, "\n");
    size_t listed = print_wrapped(out, "The tables:", 0, "");
    for (size_t i = 0; i < COUNT_OF(table_rows); i++)
        if (table_rows[i].kind != ROW_COLUMN) {
            char link[128];
            snprintf(link, sizeof link, "[%s](#%s)", table_rows[i].name, table_rows[i].name);
            listed = print_wrapped(out, link, listed, "");
        }
    fprintf(out, "\n");
    const char *table = NULL;
    for (size_t i = 0; i < COUNT_OF(table_rows); i++) {
        const struct row *row = &table_rows[i];
        if (row->kind == ROW_COLUMN) {
            print_row_in_words(out, row);
            continue;
        }
        if (table != NULL && strcmp(table, "slices") == 0)
            for (size_t c = 0; c < COUNT_OF(counter_rows); c++)
                print_row_in_words(out, &counter_rows[c]);
        fprintf(out, "\n## %s\n\n", row->name);
        size_t column = print_wrapped(out, row->meaning, 0, "");
        column = print_wrapped(out, "(rows:", column, "");
        print_wrapped(out, row->merge, column, "");
        fprintf(out, ")\n\n| column | unit | merge | meaning |\n|---|---|---|---|\n");
        table = row->name;
    }
    for (size_t e = 0; e < COUNT_OF(enumerations); e++) {
        bool is_advised = enumerations[e].entries == mishaps;
        fprintf(out, "\n## Names of %s\n\n| name | meaning |%s\n|---|---|%s\n", enumerations[e].name, is_advised ? " what to do |" : "",
                is_advised ? "---|" : "");
        for (size_t i = 0; i < enumerations[e].count; i++)
            fprintf(out, "| `%s` | %s |%s%s%s\n", enumerations[e].entries[i].name, enumerations[e].entries[i].meaning, is_advised ? " " : "",
                    is_advised ? advices[i] : "", is_advised ? " |" : "");
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

/* Which of an operation's symbols a peer intercepts: all, none, or their names. */
static void print_share(FILE *out, const char *symbols, const char *of_peer)
{
    size_t length, all = 0, theirs = 0;
    for (const char *at = symbols; (length = next_word(&at)) > 0; at += length) {
        all++;
        theirs += has_word(of_peer, at, length);
    }
    if (theirs == 0 || theirs == all) {
        fprintf(out, theirs == 0 ? " - |" : all == 1 ? " yes |" : " all %zu |", all);
        return;
    }
    fprintf(out, " %zu of %zu:", theirs, all);
    for (const char *at = symbols; (length = next_word(&at)) > 0; at += length)
        if (has_word(of_peer, at, length))
            fprintf(out, " `%.*s`", (int)length, at);
    fprintf(out, " |");
}

static void print_symbols(FILE *out, const char *symbols)
{
    size_t length;
    for (const char *at = symbols; (length = next_word(&at)) > 0; at += length)
        fprintf(out, "%s`%.*s`", at == symbols ? "" : " ", (int)length, at);
}

static const char *print_class(FILE *out, const char *class)
{
    fprintf(out, "| %s | ", class);
    return "";
}

static void print_coverage_page(FILE *out)
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
            "# Functions that are seen\n\n"
            "Is your program seen? Programs that call the C library, C++'s streams, MPI-IO in C or Fortran, or a\n"
            "library such as HDF5 on top of these are. Not seen are static programs, most Go programs,\n"
            "set-user-ID programs, pages of mapped files, and system calls that a program makes by itself ([what\n"
            "no function shows](#what-no-function-shows)). How do you notice? The kernel counts each process's\n"
            "bytes, too. `slicewise info`, `report` and `run` say what share of these bytes Slicewise saw: the\n"
            "[coverage](glossary.md#coverage). Bytes of mapped files and of io_uring are not in that count: they\n"
            "have lines of their own. `make docs` makes this page from `schema/`.\n\n"
            "Slicewise intercepts %zu functions: those of I/O, and those that begin or end processes, threads and\n"
            "MPI. [Communication of MPI](#communication-of-mpi) comes on top. %zu more rows are kinds of\n"
            "asynchronous requests, which are counted when they are complete. A function may have several names\n"
            "in the C library (`open`, `open64`, ...): these are its *symbols*, %zu in all. A function of MPI-IO\n"
            "is intercepted by its Fortran names, too. This table says how many symbols other profilers\n"
            "intercept, according to their sources. It compares names, not shares of I/O: usual programs use few\n"
            "of these functions.\n\n"
            "| profiler | version | its symbols | of these Slicewise has | its list | remarks |\n|---|---|---|---|---|---|\n",
            COUNT_OF(operations) - requests, requests, symbols);
    for (size_t peer = 0; peer < COUNT_OF(peers); peer++)
        fprintf(out, "| %s | %s | %zu | %zu | %s | %s |\n", peers[peer].name, peers[peer].version, theirs[peer], shared[peer], peers[peer].source,
                peers[peer].note);

    fprintf(out, "\n## What no function shows\n\n| what is not seen | why | what shows it all the same |\n|---|---|---|\n");
#define UNSEEN(calls, why, told_by) fprintf(out, "| %s | %s | %s |\n", calls, why, told_by);
#include "unseen.def"

    fprintf(out,
            "\n## Function by function\n\nThe last columns say which of the symbols another profiler intercepts, too. \"3 of 6\" means three of\n"
            "the six, whose names follow; \"-\" means none. A function without symbols is a kind of asynchronous\n"
            "request. [counters.md](counters.md#names-of-layers) explains the layers.\n\n"
            "| kind | a call of this kind |\n|---|---|\n");
    for (size_t kind = 0; kind < COUNT_OF(call_kinds); kind++)
        fprintf(out, "| %s | %s |\n", call_kinds[kind].name, call_kinds[kind].meaning);
    fprintf(out, "\n| function | layer | kind | symbols |");
    for (size_t peer = 0; peer < COUNT_OF(peers); peer++)
        fprintf(out, " %s |", peers[peer].name);
    fprintf(out, "\n|---|---|---|---|");
    for (size_t peer = 0; peer < COUNT_OF(peers); peer++)
        fprintf(out, "---|");
    fprintf(out, "\n");
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        fprintf(out, "| `%s` | %s | %s | ", operations[i].name, operations[i].layer, operations[i].kind);
        print_symbols(out, operations[i].symbols);
        fprintf(out, " |");
        for (size_t peer = 0; peer < COUNT_OF(wraps); peer++)
            print_share(out, operations[i].symbols, wraps[peer].symbols);
        fprintf(out, "\n");
    }

    fprintf(out, "\n## Communication of MPI\n\n"
                 "Slicewise counts these functions by class and slice (the table `communication`), unless\n"
                 "`SLICEWISE_MPI=io`. It sees calls from C, with large counts (`_c`) where the table says so, and\n"
                 "calls by two Fortran names, `mpi_..._` and `mpi_..._f08_`. `MPI_Wait`, `MPI_Test` and their like,\n"
                 "`MPI_Init` and `MPI_Finalize` are in the table above, since they complete I/O or begin a process.\n\n"
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

    fprintf(out, "\n## Seen elsewhere, not here\n\nSymbols that another profiler intercepts and Slicewise does not.\n"
                 "None of them moves bytes.\n\n");
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

int main(int argc, char **argv)
{
    const struct {
        const char *what;
        void (*print)(FILE *);
    } prints[] = {
        { "json", print_json },
        { "frame", print_frame },
        { "exports", print_exports },
        { "counters", print_counters_page },
        { "coverage", print_coverage_page },
        { "contract", print_contract },
        { "bins", print_bins },
    };
    for (size_t i = 0; argc == 2 && i < COUNT_OF(prints); i++)
        if (strcmp(argv[1], prints[i].what) == 0) {
            prints[i].print(stdout);
            return ferror(stdout) || fflush(stdout) != 0;
        }
    fprintf(stderr, "usage: generate json|frame|exports|counters|coverage\n");
    return 2;
}
