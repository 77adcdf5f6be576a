#include "left.h"

#include "bounded_io.h"
#include "clock.h"
#include "job_page.h"
#include "keep.h"
#include "own_segments.h"
#include "print_line.h"
#include "raw.h"
#include "settings.h"
#include "user.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const meanings[] = {
#define JOB_NOTE(name, meaning) meaning,
#include "enums.def"
};

struct asked {
    FILE *out;
    const char *job; /* NULL: all jobs */
    bool is_last; /* what is said is forgotten */
    unsigned said;
};

static void say_notes(int dir, const char *path, void *argument)
{
    struct asked *asked = argument;
    const char *name = strrchr(path, '/') + 1, *job = name + sizeof JOB_PAGE_NAME - 1;
    if (asked->job != NULL && strcmp(asked->job, job) != 0)
        return;
    struct job_page *page = job_page_open_in(dir, job, false);
    for (int i = 0; page != NULL && i < JOB_NOTES; i++) {
        uint64_t times = asked->is_last ? atomic_exchange(&page->notes[i], 0) : atomic_load(&page->notes[i]);
        if (times > 0)
            print_line(asked->out, "slicewise: job %s: %lu process%s %s\n", job, times, times == 1 ? "" : "es", meanings[i]);
        asked->said += times > 0;
    }
    job_page_close(page);
    if (asked->is_last && !keep_has_segments(dir, job))
        raw_unlink_at(dir, name);
}

struct tidying {
    struct asked *asked; /* NULL: nobody is */
    struct removal removal;
};

static void tidy(int dir, const char *path, void *argument)
{
    struct tidying *tidying = argument;
    if (tidying->asked != NULL && keep_is_page(strrchr(path, '/') + 1))
        say_notes(dir, path, tidying->asked);
    keep_remove_old(dir, path, &tidying->removal);
}

static void visit_to_tidy(const char *segment_dir, struct asked *asked)
{
    struct tidying tidying = { asked, { .now_ns = clock_read(CLOCK_REALTIME) } };
    const struct kept *removed = &tidying.removal.removed;
    own_segments_each(segment_dir, NULL, tidy, NULL, &tidying);
    if (removed->segments > 0)
        print_line(stderr, "slicewise: removed the counts of %u process%s (%lu KiB): their profile could not be written for %d days\n",
                   removed->segments, removed->segments == 1 ? "" : "es", removed->bytes >> 10, KEPT_DAYS);
}

void left_remove_old(const char *segment_dir)
{
    visit_to_tidy(segment_dir, NULL);
}

void left_say_and_remove_old(const char *segment_dir, const char *job)
{
    visit_to_tidy(segment_dir, &(struct asked){ .out = stderr, .job = job, .is_last = true });
}

static int say_all(void *argument)
{
    struct settings settings;
    struct staying staying = { 0 };
    struct asked asked = { .out = stdout };
    const bool *is_for_all = argument;
    settings_read(&settings, NULL);
    bounded_io_begin(settings.exit_ns);
    own_segments_each(settings.segment_dir, "", keep_count, NULL, &staying);
    if (staying.kept.segments > 0)
        print_line(
            stdout,
            "slicewise: %u process%s of user %u could not write a profile: their counts (%lu KiB) stay here for %d days, the oldest since %.1f h; "
            "%s saves them, or says what is wrong\n",
            staying.kept.segments, staying.kept.segments == 1 ? "" : "es", geteuid(), staying.kept.bytes >> 10, KEPT_DAYS,
            ((double)clock_read(CLOCK_REALTIME) - (double)staying.since_ns) / 3600e9,
            *is_for_all ? "slicewise-collect recover --all-users" : "slicewise recover");
    own_segments_each(settings.segment_dir, JOB_PAGE_NAME, say_notes, NULL, &asked);
    return staying.kept.segments + asked.said > 0;
}

int left(bool is_for_all)
{
    struct settings settings;
    settings_read(&settings, NULL);
    const char *const dirs[] = { settings.segment_dir, "/tmp", NULL };
    return is_for_all ? user_each(dirs, 0, say_all, &is_for_all) : say_all(&is_for_all);
}
