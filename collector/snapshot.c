#include "snapshot.h"

#include "adopt.h"
#include "bounded_io.h"
#include "clock.h"
#include "format.h"
#include "living.h"
#include "own_segments.h"
#include "print_line.h"
#include "raw.h"
#include "record.h"
#include "settings.h"
#include "spool.h"

#include <limits.h>
#include <string.h>

struct snapshot {
    const char *dir;
    unsigned processes, failed;
};

/* By name, for the directory need not be there yet, or by what is there. */
static bool is_asked_for(const struct segment *copy, const char *dir)
{
    size_t length = strlen(dir);
    bool is_there = strncmp(copy->spool_dir, dir, length) == 0 && (copy->spool_dir[length] == '\0' || copy->spool_dir[length] == '/');
    return !copy->is_of_node && (is_there || bounded_io_is_same(copy->spool_dir, dir));
}

/* The copy is closed and drained as if the process had ended, but for its ending: it runs. */
static void write_one(int dir, const char *path, void *argument)
{
    struct snapshot *all = argument;
    struct segment *copy = living_copy(dir, strrchr(path, '/') + 1, raw_geteuid());
    if (copy == NULL)
        return;
    if (is_asked_for(copy, all->dir)) {
        struct segment_home home = { .place = PLACE_private, .segment = copy };
        int error = segment_finish(&home, ENDING_running, clock_read(CLOCK_REALTIME), FORMAT_RECOVERED);
        if (error < 0 && all->failed++ == 0)
            print_line(stderr, "slicewise: %s: cannot write a snapshot (%s)\n", spool_into, spool_words(error));
        all->processes++;
    }
    adopt_drop_copy(copy);
}

int snapshot(const char *dir, const char *into)
{
    struct settings settings;
    struct snapshot all = { .dir = dir };
    settings_read(&settings, NULL);
    spool_into = into;
    bounded_io_begin(settings.exit_ns);
    own_segments_each(settings.segment_dir, "", write_one, NULL, &all);
    print_line(stdout, "%u\n", all.processes);
    return all.failed > 0;
}
