/* Turns the lists of schema/ into what cannot be had from the preprocessor alone. Runs at build time.
 *   generate json       the schema frame's payload
 *   generate frame      the same as a C array: a complete frame with its envelope, ready to be written
 *   generate exports    the version script of the library: the interposed symbols and nothing else
 *   generate counters   docs/counters.md
 *   generate coverage   docs/coverage.md
 *   generate contract   analyzer/slicewise/contract.json: what the analyzer must know beside what a profile tells
 *   generate bins       the table by which the engine finds the bin of a transfer's size */
#include "lists.h"

#include "format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

const char *unit_in_file(const char *unit)
{
    static const struct named units[] = { { "COUNT", "count" }, { "BYTES", "bytes" }, { "NS", "ns" }, { "PS", "ps" }, { "THREADS", "threads" } };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].meaning;
    return "";
}

/* Lower edges of bins as the file names them. */
const char *edges_in_file(const char *edges)
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

static void print_tables(FILE *out)
{
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
    fprintf(out, "]}");
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
    for (size_t e = 0; e < COUNT_OF(enumerations); e++) /* in samples these are numbered after the operations */
        for (size_t i = 0; enumerations[e].entries == thread_waits || enumerations[e].entries == activities ? i < enumerations[e].count : 0; i++)
            fprintf(out, ",\n   {\"name\": \"%s\", \"layer\": \"\", \"kind\": \"\"}", enumerations[e].entries[i].name);
    fprintf(out, "]},\n \"tables\": [");
    print_tables(out);
    fprintf(out, "]}\n");
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

static void print_signals(FILE *out)
{
    fprintf(out, " \"signals\": {");
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        fprintf(out,
                "%s\n  \"%s\": {\"table\": \"%s\", \"unit\": \"%s\", \"of_devices\": \"%s\", \"amount\": \"%s\", \"per\": \"%s\",\n"
                "   \"meaning\": \"%s\"}",
                i > 0 ? "," : "", signals[i].name, signals[i].table, signals[i].unit, signals[i].of_devices, signals[i].amount, signals[i].per,
                signals[i].meaning);
    fprintf(out, "\n },\n \"signs\": {");
    for (size_t i = 0; i < COUNT_OF(signs); i++)
        fprintf(out, "%s\n  \"%s\": {\"cause\": \"%s\", \"worth\": %g, \"full\": %g}", i > 0 ? "," : "", signs[i].signal, signs[i].cause,
                signs[i].worth, signs[i].full);
    fprintf(out, "\n },\n \"node_charts\": [");
    for (size_t i = 0; i < COUNT_OF(charts); i++) {
        fprintf(out, "%s\n  {\"heading\": \"%s\", \"unit\": \"%s\", \"scale\": %.9g, \"of_nodes\": \"%s\", \"lines\": [", i > 0 ? "," : "",
                charts[i].heading, charts[i].unit, charts[i].scale, charts[i].of_nodes);
        const char *separator = "";
        for (size_t line = 0; line < COUNT_OF(chart_lines); line++) {
            if (strcmp(chart_lines[line].chart, charts[i].name) != 0)
                continue;
            fprintf(out, "%s\n   {\"signal\": \"%s\", \"label\": \"%s\", \"style\": \"%s\"}", separator, chart_lines[line].signal,
                    chart_lines[line].label, chart_lines[line].style);
            separator = ",";
        }
        fprintf(out, "]}");
    }
    fprintf(out, "\n ]\n");
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
    fprintf(out,
            "\n },\n \"kept\": {\"days\": %d, \"job_processes\": %d, \"job_bytes\": %" PRIu64 ", \"user_processes\": %d, \"user_bytes\": %" PRIu64
            "},",
            kept[0].days, kept[0].job_processes, kept[0].job_bytes, kept[0].user_processes, kept[0].user_bytes);
    fprintf(out, "\n \"said\": [");
    const char *comma = "";
    for (size_t i = 0; i < COUNT_OF(problems); i++)
        if (is_said[i]) {
            fprintf(out, "%s\"%s\"", comma, problems[i].name);
            comma = ", ";
        }
    fprintf(out, "],\n \"advice\": {");
    for (size_t i = 0; i < COUNT_OF(problems); i++)
        fprintf(out, "%s\n  \"%s\": \"%s\"", i > 0 ? "," : "", problems[i].name, advices[i]);
    fprintf(out, "\n },\n \"tables\": [");
    print_tables(out);
    fprintf(out, "],\n");
    print_signals(out);
    fprintf(out, "}\n");
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
    /* No functions that are intercepted: AddressSanitizer's runtime asks for the first, programs for the regions', our other libraries for the rest. */
    fprintf(out, "    __asan_default_options;\n    slicewise_count_wait;\n    slicewise_region_begin;\n    slicewise_region_end;\n"
                 "    slicewise_thread_wait_begin;\n    slicewise_thread_wait_end;\n    slicewise_accelerator_wait_begin;\n"
                 "    slicewise_accelerated;\n    slicewise_accelerators_failed;\n");
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
    for (size_t i = 0; i < COUNT_OF(library_symbols); i++)
        fprintf(out, "    %s;\n", library_symbols[i]);
    static const char *const annotations[] = { "C1EPKcS1_i", "C2EPKcS1_i", "C1EPKcS1_i14TraceEventType", "C2EPKcS1_i14TraceEventType", "8finalizeEv",
                                               "D1Ev",       "D2Ev" }; /* of DFTracer */
    for (size_t i = 0; i < COUNT_OF(annotations); i++)
        fprintf(out, "    _ZN8DFTracer%s;\n", annotations[i]);
    fprintf(out, "local:\n    *;\n};\n");
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
