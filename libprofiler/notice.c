/* What the engine says to people, on the standard error that the process began with: lines, and trouble of which the first is told. */
#include "state.h"

#include "identity.h"
#include "raw.h"
#include "say.h"
#include "visible.h"

#include <stdio.h>
#include <unistd.h>

void engine_say(const char *format, const char *first, const char *second, const char *third)
{
    static char line[1024], shown[sizeof line];
    struct statx status;
    if (engine.settings.is_quiet || identity_is_further_rank() || raw_statx_descriptor(STDERR_FILENO, &status) < 0 ||
        status.stx_ino != engine.standard_error.inode || status.stx_dev_minor != engine.standard_error.device)
        return;
    snprintf(line, sizeof line, format, first, second, third);
    say_line(STDERR_FILENO, &status, shown, visible_line(shown, sizeof shown, line));
}

static const struct {
    bool is_said;
    const char *meaning;
} mishap_texts[] = {
#define SAID true
#define QUIET false
#define MISHAP(name, said, meaning, advice) { said, meaning },
#include "mishaps.def"
#undef SAID
#undef QUIET
};

static void say_once(enum mishap kind, const char *detail)
{
    if (!mishap_texts[kind].is_said || engine.is_said[kind])
        return;
    engine.is_said[kind] = true;
    engine_say("slicewise: %s%s%s\n", detail != NULL ? detail : "", detail != NULL ? ": " : "", mishap_texts[kind].meaning);
}

void mishap(enum mishap kind, const char *detail)
{
    segment_count_mishap(engine.home.segment, kind);
    say_once(kind, detail);
}

void notice_mishaps_of_store(void)
{
    for (int kind = 0; kind < MISHAPS; kind++)
        if (__atomic_load_n(&engine.home.segment->mishaps[kind], __ATOMIC_RELAXED) > 0)
            say_once(kind, NULL);
}

void notice_bad_setting(const char *variable, const char *value, const char *wrong)
{
    if (value != NULL)
        engine_say("slicewise: %s=%s: %s; its default is used\n", variable, value, wrong);
    else
        engine_say("slicewise: %s: %s\n", variable, wrong, "");
}
