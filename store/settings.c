#include "settings.h"

#include "clock.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/* Copies: a program may write over the environment that it began with, to show another title in `ps`. */
static START_DATA char first_texts[288] __attribute__((aligned(sizeof(char *)))); /* on a page that is touched anyway, and mostly enough */
static char more_texts[4 * PATH_MAX] __attribute__((aligned(sizeof(char *))));
static START_DATA size_t first_used, more_used;

static void *room_in(char *texts, size_t size, size_t *used, size_t bytes)
{
    size_t at = (*used + sizeof(char *) - 1) / sizeof(char *) * sizeof(char *);
    if (bytes > size || at > size - bytes)
        return NULL;
    *used = at + bytes;
    return texts + at;
}

void *settings_room(size_t bytes)
{
    void *room = room_in(first_texts, sizeof first_texts, &first_used, bytes);
    return room != NULL ? room : room_in(more_texts, sizeof more_texts, &more_used, bytes);
}

static const char *const variables[] = {
#define SETTING(name, variable, type, standard, least, most, meaning) variable,
#define ANALYZER_SETTING(variable) variable,
#include "settings.def"
};

/* A decimal number of seconds as nanoseconds. Returns false if it is anything else. */
static bool parse_seconds(const char *text, uint64_t *ns)
{
    uint64_t whole = 0, fraction = 0, unit = 1000000000;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && whole < 1000000; at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++) {
            unit /= 10;
            fraction += (uint64_t)(*at - '0') * unit;
        }
    *ns = whole * 1000000000 + fraction;
    return at != text && *at == '\0';
}

static const char *read_seconds(uint64_t *setting, const char *text, uint64_t least_ns, uint64_t most_ns, const char *wrong)
{
    uint64_t ns;
    if (!parse_seconds(text, &ns) || ns < least_ns || ns > most_ns)
        return wrong;
    *setting = ns;
    return NULL;
}

static const char *read_milliseconds(uint64_t *setting, const char *text, uint64_t least_ns, uint64_t most_ns, const char *wrong)
{
    uint64_t thousandths;
    if (!parse_seconds(text, &thousandths) || (thousandths != 0 && (thousandths / 1000 < least_ns || thousandths / 1000 > most_ns)))
        return wrong;
    *setting = thousandths / 1000;
    return NULL;
}

static const char *read_flag(uint64_t *setting, const char *text)
{
    if ((text[0] != '0' && text[0] != '1') || text[1] != '\0')
        return "neither 0 nor 1";
    *setting = (uint64_t)(text[0] - '0');
    return NULL;
}

static const char *read_choice(const char **setting, const char *text)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "vdso") != 0)
        return "neither auto nor vdso";
    *setting = text[0] == 'a' ? "auto" : "vdso";
    return NULL;
}

static const char *const turn_policies[] = {
    "off",
#define TURN_POLICY(name, meaning) #name,
#include "enums.def"
};

static const char *const turn_steps[] = {
#define TURN_STEP(name, meaning) #name,
#include "enums.def"
};

static const char *const mpi_scopes[] = {
#define MPI_SCOPE(name, meaning) #name,
#include "enums.def"
};

static const char *const names_forms[] = {
#define NAMES(name, meaning) #name,
#include "enums.def"
};

static const char *read_name(uint64_t *setting, const char *text, const char *const *names, size_t count, const char *wrong)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *setting = i;
            return NULL;
        }
    return wrong;
}

static const char *read_mebibytes(uint64_t *setting, const char *text, uint64_t least_bytes, uint64_t most_bytes, const char *wrong)
{
    uint64_t billionths;
    if (!parse_seconds(text, &billionths))
        return wrong;
    /* Whole ones apart, for a division of 128 bits lies on a page that few processes use. */
    uint64_t bytes = ((billionths / 1000000000) << 20) + ((billionths % 1000000000) << 20) / 1000000000;
    if (bytes < least_bytes || bytes > most_bytes)
        return wrong;
    *setting = bytes;
    return NULL;
}

static const char *read_text(const char **setting, const char *text, size_t most)
{
    size_t bytes = strlen(text) + 1;
    void *room = bytes > (most != 0 ? most : PATH_MAX) ? NULL : settings_room(bytes);
    if (room == NULL)
        return "too long";
    *setting = memcpy(room, text, bytes);
    return NULL;
}

#define READ_TEXT(setting, text, least, most) read_text(setting, text, most)
#define READ_CHOICE(setting, text, least, most) read_choice(setting, text)
/* The range is a macro's argument, so that it can stand in the words as well. */
#define READ_SECONDS(setting, text, least, most) \
    read_seconds(setting, text, (uint64_t)((least) * 1e9), (uint64_t)((most) * 1e9), "not a number of seconds from " #least " to " #most)
#define READ_MILLISECONDS(setting, text, least, most) \
    read_milliseconds(setting, text, (uint64_t)((least) * 1e6), (uint64_t)((most) * 1e6), \
                      "neither 0 nor a number of milliseconds from " #least " to " #most)
#define READ_POLICY(setting, text, least, most) \
    read_name(setting, text, turn_policies, sizeof turn_policies / sizeof *turn_policies, \
              "none of off, interfere, fcfs, interrupt, delay, dynamic, set10")
#define READ_STEP(setting, text, least, most) \
    read_name(setting, text, turn_steps, sizeof turn_steps / sizeof *turn_steps, "none of call, round, file")
#define READ_SCOPE(setting, text, least, most) read_name(setting, text, mpi_scopes, sizeof mpi_scopes / sizeof *mpi_scopes, "neither all nor io")
#define READ_NAMES(setting, text, least, most) \
    read_name(setting, text, names_forms, sizeof names_forms / sizeof *names_forms, "none of full, base, hash")
#define READ_MEBIBYTES(setting, text, least, most) \
    read_mebibytes(setting, text, (uint64_t)((least) * 1048576.0), (uint64_t)((most) * 1048576.0), "not a number of MiB from " #least " to " #most)
#define READ_FLAG(setting, text, least, most) read_flag(setting, text)

static bool is_known(const char *entry)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        size_t length = strlen(variables[i]);
        if (strncmp(entry, variables[i], length) == 0 && entry[length] == '=')
            return true;
    }
    return false;
}

/* Our variables of the environment, found in one pass: it may have tens of thousands, and getenv would look through all of them for each setting. */
enum { GIVEN_MAX = 64 };
struct given {
    unsigned count;
    char *entry[GIVEN_MAX];
};

static void find_given(struct given *given)
{
    given->count = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL && given->count < GIVEN_MAX; entry++)
        if ((*entry)[0] == 'S' && strncmp(*entry, "SLICEWISE_", 10) == 0)
            given->entry[given->count++] = *entry;
}

const char *settings_environment(const char *variable)
{
    size_t length = strlen(variable);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, variable, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

static const char *value_of(const struct given *given, const char *variable)
{
    size_t length = strlen(variable);
    for (unsigned i = 0; i < given->count; i++)
        if (strncmp(given->entry[i], variable, length) == 0 && given->entry[i][length] == '=')
            return given->entry[i] + length + 1;
    return NULL;
}

void settings_read(struct settings *settings, void (*complain)(const char *variable, const char *value, const char *wrong))
{
    const char *value, *wrong;
    struct given given;
    find_given(&given);
    settings->bad = 0;
    first_used = more_used = 0;
#define SETTING(name, variable, type, standard, least, most, meaning) \
    READ_##type(&settings->name, standard, least, most); \
    value = value_of(&given, variable); \
    wrong = value != NULL && value[0] != '\0' ? READ_##type(&settings->name, value, least, most) : NULL; \
    if (wrong != NULL) { \
        settings->bad++; \
        if (complain != NULL) \
            complain(variable, value, wrong); \
    }
#include "settings.def"
    for (unsigned i = 0; i < given.count; i++)
        if (!is_known(given.entry[i])) {
            settings->bad++;
            if (complain != NULL)
                complain(given.entry[i], NULL, "no such setting");
        }
}
