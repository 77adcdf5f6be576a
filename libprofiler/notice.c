/* What the engine says to people, on the standard error that the process began with: lines, and trouble of which the first is told. Programs' output is
 * compared, parsed and mailed, so that one process of a job says one line, and to a terminal alone. The rest is in the profile, or in the job's page
 * (job_page.h), and `slicewise run` and `slicewise doctor` say it. SLICEWISE_VERBOSE makes every process say everything, wherever that goes. */
#include "state.h"

#include "identity.h"
#include "job_page.h"
#include "raw.h"
#include "say.h"
#include "visible.h"

#include <stdio.h>
#include <unistd.h>

static bool may_speak(const struct statx *status)
{
    if (identity_is_further_rank() || !say_is_terminal(STDERR_FILENO, status) || !job_page_may_speak(engine.settings.segment_dir, engine.job))
        return false;
    engine.has_spoken = true;
    return true;
}

void engine_say(const char *format, const char *first, const char *second, const char *third)
{
    static char line[1024], shown[sizeof line];
    struct statx status;
    if (engine.settings.is_quiet || raw_statx_descriptor(STDERR_FILENO, &status) < 0 || status.stx_ino != engine.standard_error.inode ||
        status.stx_dev_minor != engine.standard_error.device || (!engine.settings.is_verbose && !may_speak(&status)))
        return;
    snprintf(line, sizeof line, format, first, second, third);
    say_line(STDERR_FILENO, &status, shown, visible_line(shown, sizeof shown, line));
}

enum { QUIET, COVERAGE, SAID, OWN_WORDS };
static const struct {
    int said;
    const char *meaning;
} problem_texts[] = {
#define PROBLEM(name, said, meaning, advice) { said, meaning },
#include "problems.def"
};

static void say_once(enum problem kind, const char *detail)
{
    if (problem_texts[kind].said != SAID || engine.is_said[kind])
        return;
    engine.is_said[kind] = true;
    engine_say("slicewise: %s%s%s\n", detail != NULL ? detail : "", detail != NULL ? ": " : "", problem_texts[kind].meaning);
}

void notice_problem(enum problem kind, const char *detail)
{
    segment_count_problem(engine.home.segment, kind);
    say_once(kind, detail);
}

void notice_problems_of_store(void)
{
    bool is_worth_a_look = false;
    for (int kind = 0; kind < PROBLEMS; kind++)
        if (__atomic_load_n(&engine.home.segment->problems[kind], __ATOMIC_RELAXED) > 0) {
            is_worth_a_look |= problem_texts[kind].said != QUIET;
            say_once(kind, NULL);
        }
    if (is_worth_a_look)
        job_page_note_look(engine.settings.segment_dir, engine.job);
}

void notice_bad_setting(const char *variable, const char *value, const char *wrong)
{
    if (value != NULL)
        engine_say("slicewise: %s=%s: %s; its default is used\n", variable, value, wrong);
    else
        engine_say("slicewise: %s: %s\n", variable, wrong, "");
}
