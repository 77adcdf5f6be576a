#include "live.h"

#include "adopt.h"
#include "bounded_io.h"
#include "clock.h"
#include "json_text.h"
#include "living.h"
#include "mount.h"
#include "raw.h"
#include "settings.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const objects[] = {
#define OBJECT(name, meaning) #name,
#include "enums.def"
};
static const char *const kinds[TOTAL_KINDS] = { "read", "write", "meta", "sync" };
_Static_assert(KIND_read == 0 && KIND_write == 1 && KIND_meta == 2 && KIND_sync == 3, "totals are in the order of the kinds");

/* What lanes hold of the open slice, on top of what is closed. */
static void add_open_slices(struct segment *segment)
{
    for (uint32_t i = 0; i < segment->lanes_used && i < LANES_MAX; i++) {
        const struct lane *lane = (const struct lane *)segment->lanes[i];
        for (uint32_t c = 0; c < lane->cells_used && c < CELLS; c++) {
            const struct cell *cell = &lane->cells[c];
            if (cell->layer == LAYER_mpiio || cell->layer == LAYER_mpiio_coll || cell->layer == LAYER_kernel || cell->layer >= LAYERS)
                continue;
            struct total *total = segment_total(segment, cell->mount);
            for (int kind = 0; kind < TOTAL_KINDS; kind++) {
                total->ops[kind] += cell->counts.counter[COUNTER_read_ops + kind] + (kind < MOVING_KINDS ? cell->served[kind] : 0);
                total->ns[kind] += cell->counts.counter[COUNTER_read_ns + kind];
            }
            for (int kind = 0; kind < MOVING_KINDS; kind++)
                total->bytes[kind] += cell->counts.counter[COUNTER_read_bytes + kind];
        }
    }
}

static void print_process(struct segment *segment, uid_t owner, bool is_first)
{
    const uint64_t *row = segment->process_row;
    uint64_t closed_bytes[MOVING_KINDS] = { 0 };
    for (uint32_t mount = 0; mount < TOTALS_MAX; mount++)
        for (int kind = 0; kind < MOVING_KINDS; kind++)
            closed_bytes[kind] += segment->totals[mount].bytes[kind];
    add_open_slices(segment);
    printf("%s{\"process\": \"%016lx\", ", is_first ? "" : ", ", segment->process);
    json_text("job", segment_text(segment, row[processes_job]));
    printf(", ");
    json_text("step", segment_text(segment, row[processes_step]));
    printf(", ");
    json_text("program", segment_text(segment, row[processes_program]));
    printf(", \"user\": %lu, \"pid\": %lu, \"rank\": %ld, \"start_ns\": %lu, \"slice_ns\": %lu, \"kernel_read_bytes\": %lu, \"kernel_write_bytes\": "
           "%lu, "
           "\"closed_read_bytes\": %lu, \"closed_write_bytes\": %lu, \"mounts\": [",
           (uint64_t)owner, row[processes_pid], (long)row[processes_rank], row[processes_start_ns], row[processes_slice_ns], segment->kernel_bytes[0],
           segment->kernel_bytes[1], closed_bytes[0], closed_bytes[1]);
    for (uint32_t mount = 0, printed = 0; mount < segment->mounts_used && mount < TOTALS_MAX; mount++) {
        bool is_several = mount == TOTALS_MAX - 1 && segment->mounts_used > TOTALS_MAX;
        const uint64_t *about = segment->mounts[is_several ? MOUNT_OTHER : mount];
        const struct total *total = &segment->totals[mount];
        if (total->ops[KIND_read] + total->ops[KIND_write] + total->ops[KIND_meta] + total->ops[KIND_sync] + total->bytes[0] + total->bytes[1] == 0)
            continue;
        uint64_t object = about[mounts_object];
        printf("%s{\"object\": \"%s\", ", printed++ > 0 ? ", " : "", object < sizeof objects / sizeof *objects ? objects[object] : "other");
        json_text("point", segment_text(segment, about[mounts_point]));
        printf(", ");
        json_text("type", is_several ? "several" : segment_text(segment, about[mounts_type]));
        printf(", ");
        json_text("source", segment_text(segment, about[mounts_source]));
        for (int kind = 0; kind < TOTAL_KINDS; kind++)
            printf(", \"%s_ops\": %lu, \"%s_ns\": %lu", kinds[kind], total->ops[kind], kinds[kind], total->ns[kind]);
        for (int kind = 0; kind < MOVING_KINDS; kind++)
            printf(", \"%s_bytes\": %lu", kinds[kind], total->bytes[kind]);
        printf("}");
    }
    printf("]}");
}

static unsigned print_segment(int dir, const char *name, uid_t owner, unsigned printed)
{
    struct segment *segment = living_copy(dir, name, owner);
    if (segment == NULL)
        return 0;
    print_process(segment, owner, printed == 0);
    adopt_drop_copy(segment);
    return 1;
}

/* Directories of segments are their owner's, whatever they are called. */
static unsigned print_user_dir(int all, const char *name, bool is_for_all, unsigned printed)
{
    struct stat status;
    unsigned found = 0;
    int fd = raw_open_at(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    bool is_shown = fd >= 0 && fstat(fd, &status) == 0 && (is_for_all || status.st_uid == geteuid()) && (status.st_mode & 0022) == 0;
    DIR *dir = is_shown ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            raw_close(fd);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            found += print_segment(fd, entry->d_name, status.st_uid, printed + found);
    closedir(dir);
    return found;
}

static unsigned print_segments_below(const char *path, bool is_for_all, unsigned printed)
{
    unsigned found = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (segment_is_user_dir(entry->d_name))
            found += print_user_dir(dirfd(dir), entry->d_name, is_for_all, printed + found);
    closedir(dir);
    return found;
}

int live(double every_seconds, bool is_for_all)
{
    struct settings settings;
    settings_read(&settings, NULL);
    const char *tmpdir = getenv("TMPDIR");
    tmpdir = tmpdir != NULL && tmpdir[0] == '/' ? tmpdir : "/tmp";
    signal(SIGPIPE, SIG_IGN);
    bool does_answer = true; /* once it did not, nobody waits for it again */
    for (;;) {
        printf("{\"time_ns\": %lu, \"steady_ns\": %lu, \"processes\": [", clock_read(CLOCK_REALTIME), clock_read(CLOCK_MONOTONIC));
        unsigned printed = print_segments_below(settings.segment_dir, is_for_all, 0);
        does_answer = does_answer && bounded_io_answers(tmpdir);
        if (strcmp(tmpdir, settings.segment_dir) != 0 && does_answer)
            print_segments_below(tmpdir, is_for_all, printed);
        printf("]}\n");
        if (fflush(stdout) != 0 || every_seconds == 0)
            return 0;
        struct timespec pause = { .tv_sec = (time_t)every_seconds, .tv_nsec = (long)((every_seconds - (double)(time_t)every_seconds) * 1e9) };
        nanosleep(&pause, NULL);
    }
}
