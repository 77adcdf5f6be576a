/* The lists of schema/ as arrays, for what turns them into files at build time: generate.c, and pages.c. */
#ifndef SLICEWISE_LISTS_H
#define SLICEWISE_LISTS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

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
#define THREAD_WAIT ENTRY
static const struct named thread_waits[] = {
#include "enums.def"
};
#define ACCELERATED ENTRY
static const struct named accelerated[] = {
#include "enums.def"
};
#define ACTIVITY ENTRY
static const struct named activities[] = {
#include "enums.def"
};
#define PROBLEM(name, said, meaning, advice) { #name, meaning },
static const struct named problems[] = {
#include "problems.def"
};
#define PROBLEM(name, said, meaning, advice) advice,
static const char *const advices[] = {
#include "problems.def"
};
#define QUIET 0
#define COVERAGE 0
#define SAID 1
#define OWN_WORDS 1
#define PROBLEM(name, said, meaning, advice) said,
static const int is_said[] = {
#include "problems.def"
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

/* Libraries above MPI-IO and POSIX, their functions, and the symbols that count as these. */
#define LIBRARY ENTRY
static const struct named io_libraries[] = {
#include "libraries.def"
};
#define LIBRARY_FUNCTION(library, name) { #name, #library },
static const struct named library_functions[] = {
#include "libraries.def"
};
#define LIBRARY_SYMBOL(mark, name, symbol, arguments) #symbol,
static const char *const library_symbols[] = {
#include "libraries.def"
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

static const struct { const char *name, *table, *unit, *of_devices, *amount, *per, *meaning; } signals[] = {
#define SIGNAL(name, table, unit, of_devices, amount, per, meaning) { #name, #table, unit, #of_devices, amount, per, meaning },
#include "signals.def"
};
static const struct { const char *signal, *cause; double worth, full; } signs[] = {
#define SIGN(signal, cause, worth, full) { #signal, cause, worth, full },
#include "signals.def"
};
static const struct { const char *name, *heading, *unit; double scale; const char *of_nodes; } charts[] = {
#define CHART(name, heading, unit, scale, of_nodes) { #name, heading, unit, scale, #of_nodes },
#include "signals.def"
};
static const struct { const char *chart, *signal, *label, *style; } chart_lines[] = {
#define LINE(chart, signal, label, style) { #chart, #signal, label, #style },
#include "signals.def"
};
#define KEPT(days, job_processes, job_bytes, user_processes, user_bytes) { days, job_processes, user_processes, job_bytes, user_bytes },
static const struct { int days, job_processes, user_processes; uint64_t job_bytes, user_bytes; } kept[] = {
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
    { "layers", layers, COUNT_OF(layers) },
    { "objects", objects, COUNT_OF(objects) },
    { "endings", endings, COUNT_OF(endings) },
    { "places", places, COUNT_OF(places) },
    { "clocks", clocks, COUNT_OF(clocks) },
    { "mishaps", problems, COUNT_OF(problems) }, /* the name that format 1 has (tables.def) */
    { "reasons", reasons, COUNT_OF(reasons) },
    { "devices", devices, COUNT_OF(devices) },
    { "mpi_classes", mpi_classes, COUNT_OF(mpi_classes) },
    { "io_libraries", io_libraries, COUNT_OF(io_libraries) },
    { "library_functions", library_functions, COUNT_OF(library_functions) },
    { "thread_waits", thread_waits, COUNT_OF(thread_waits) },
    { "activities", activities, COUNT_OF(activities) },
    { "accelerated", accelerated, COUNT_OF(accelerated) },
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

/* A unit as files name it, and the lower edges of a histogram's bins. */
const char *unit_in_file(const char *unit);
const char *edges_in_file(const char *edges);

/* docs/counters.md and docs/coverage.md. */
void print_counters_page(FILE *out);
void print_coverage_page(FILE *out);

#endif
