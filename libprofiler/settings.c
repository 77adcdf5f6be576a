#include "settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char *const variables[] = {
#define SETTING(name, variable, type, standard, least, most, meaning) variable,
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

static const char *read_seconds(uint64_t *setting, const char *text, uint64_t least, uint64_t most)
{
    uint64_t ns;
    if (!parse_seconds(text, &ns) || ns < least || ns > most)
        return "not a number of seconds from 0.1 to 60";
    *setting = ns;
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
    *setting = text;
    return NULL;
}

static const char *read_text(const char **setting, const char *text)
{
    *setting = text;
    return NULL;
}

#define READ_TEXT(setting, text, least, most) read_text(setting, text)
#define READ_CHOICE(setting, text, least, most) read_choice(setting, text)
#define READ_SECONDS(setting, text, least, most) read_seconds(setting, text, least, most)
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

void settings_read(struct settings *settings, void (*complain)(const char *variable, const char *value, const char *wrong))
{
    const char *value, *wrong;
    settings->bad = 0;
#define SETTING(name, variable, type, standard, least, most, meaning) \
    READ_##type(&settings->name, standard, least, most); \
    value = getenv(variable); \
    wrong = value != NULL && value[0] != '\0' ? READ_##type(&settings->name, value, least, most) : NULL; \
    if (wrong != NULL) { \
        settings->bad++; \
        complain(variable, value, wrong); \
    }
#include "settings.def"
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        if (strncmp(*entry, "SLICEWISE_", 10) == 0 && !is_known(*entry)) {
            settings->bad++;
            complain(*entry, NULL, "no such setting");
        }
}
