/* The settings of schema/settings.def, read from the environment once, at the engine's start. */
#ifndef SLICEWISE_SETTINGS_H
#define SLICEWISE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTING_TYPE_TEXT const char *
#define SETTING_TYPE_CHOICE const char *
#define SETTING_TYPE_SECONDS uint64_t
#define SETTING_TYPE_MILLISECONDS uint64_t
#define SETTING_TYPE_FLAG uint64_t
#define SETTING_TYPE_POLICY uint64_t /* 0: off; else 1 and its number in schema/enums.def */
#define SETTING_TYPE_MEBIBYTES uint64_t
#define SETTING_TYPE_STEP uint64_t /* enum turn_step */
#define SETTING_TYPE_SCOPE uint64_t /* enum mpi_scope */
#define SETTING_TYPE_NAMES uint64_t /* enum names */

enum turn_step {
#define TURN_STEP(name, meaning) TURN_STEP_##name,
#include "enums.def"
};

struct settings {
#define SETTING(name, variable, type, standard, least, most, meaning) SETTING_TYPE_##type name;
#include "settings.def"
    unsigned bad; /* unknown or out of range, and so left at their defaults */
};

/* Reads all settings; their texts last until it is done again. A bad one keeps its default and is passed to `complain` (NULL: to nobody) with what is
 * wrong. */
void settings_read(struct settings *settings, void (*complain)(const char *variable, const char *value, const char *wrong));

/* A variable's value in the environment as it is now; NULL: it is not there. By a look of our own: programs may have a getenv of their own, and bash's
 * allocates. */
const char *settings_environment(const char *variable);

/* Memory of zeros beside the settings' texts, for what else is kept of the environment; NULL if there is no more. */
void *settings_room(size_t bytes);

#endif
