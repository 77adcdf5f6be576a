#include "own_segments.h"

#include "adopt.h"
#include "bounded_io.h"
#include "clock.h"
#include "raw.h"
#include "segment_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 2, OWN_DIRS_MAX = 32, PATH_BYTES = 256 };

/* Whatever the kernel's coarse clock says of a change, it is no older than this. */
#define SETTLED_NS (NS_PER_SECOND / 10)

/* Where directories lie, and which of them are ours, as of a look at a time. */
static struct own_place {
    const char *dir;
    uint64_t changed_ns, looked_ns;
    unsigned used; /* more than OWN_DIRS_MAX: not all are known */
    char own[OWN_DIRS_MAX][PATH_BYTES];
} places[PLACES];

struct visiting {
    struct own_place *place;
    const char *prefix;
    void (*visit)(int dir, const char *path, void *argument);
    void *argument;
};

static void visit_dir(int fd, const char *user_dir, const struct visiting *visiting)
{
    adopt_each(fd, user_dir, visiting->prefix, visiting->visit, visiting->argument);
}

static void visit_and_note(int fd, const char *user_dir, void *argument)
{
    const struct visiting *visiting = argument;
    struct own_place *place = visiting->place;
    if (place->used < OWN_DIRS_MAX)
        snprintf(place->own[place->used], sizeof place->own[0], "%s", user_dir);
    place->used++;
    visit_dir(fd, user_dir, visiting);
}

/* A directory that is made there changes the place. */
static uint64_t changed_ns(const char *dir)
{
    struct statx status;
    long looked = syscall(SYS_statx, AT_FDCWD, dir, 0, STATX_MTIME, &status);
    return looked == 0 ? (uint64_t)status.stx_mtime.tv_sec * NS_PER_SECOND + status.stx_mtime.tv_nsec : 0;
}

static void visit_place(const struct visiting *visiting)
{
    struct own_place *place = visiting->place;
    uint64_t changed = changed_ns(place->dir);
    bool is_known = place->looked_ns > changed + SETTLED_NS && place->changed_ns == changed && place->used <= OWN_DIRS_MAX;
    if (!is_known) {
        place->changed_ns = changed;
        place->looked_ns = clock_read(CLOCK_REALTIME);
        place->used = 0;
        adopt_each_dir(place->dir, visit_and_note, (void *)visiting);
        return;
    }
    for (unsigned i = 0; i < place->used; i++) {
        int fd = segment_dir_open(AT_FDCWD, place->own[i]);
        if (fd < 0)
            continue;
        visit_dir(fd, place->own[i], visiting);
        raw_close(fd);
    }
}

void own_segments_each(const char *segment_dir, const char *prefix, void (*visit)(int dir, const char *path, void *argument),
                       void (*silent)(const char *place, void *argument), void *argument)
{
    const char *tmpdir = getenv("TMPDIR");
    places[0].dir = segment_dir;
    places[1].dir = tmpdir != NULL && tmpdir[0] == '/' ? tmpdir : "/tmp";
    for (unsigned i = 0; i < PLACES; i++) {
        if (i > 0 && strcmp(places[i].dir, places[0].dir) == 0)
            continue;
        if (bounded_io_answers(places[i].dir))
            visit_place(&(struct visiting){ &places[i], prefix, visit, argument });
        else if (silent != NULL)
            silent(places[i].dir, argument);
    }
}
