#include "launched.h"

#include "clock.h"
#include "command.h"
#include "identity.h"
#include "job_page.h"
#include "print_line.h"
#include "program.h"
#include "raw.h"
#include "record.h"
#include "samples.h"
#include "settings.h"
#include "spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PID, OWN_BYTES, READ_BYTES, WRITE_BYTES, READ_OPS, WRITE_OPS, START_NS, END_NS, NUMBERS };

static const char *const reasons[] = {
#define REASON(name, meaning) #name,
#include "enums.def"
};

static struct program program;

void launched_look(const char *command)
{
    struct settings settings;
    program_look_for(&program, command);
    settings_read(&settings, NULL);
    if (settings.is_off)
        program.reason = REASON_off;
    print_line(stdout, "%s %s\n", reasons[program.reason], program.path);
}

/* By a segment of our own, as a collector's samples go: it is gone when this returns, whatever became of the row. */
static int append(const uint64_t numbers[NUMBERS], char *const *arguments, int count, const struct settings *settings, const char *job)
{
    static struct sample sample;
    static struct command command;
    struct segment_home home;
    char name[160], path[1100];
    snprintf(name, sizeof name, "%s.%d", job, getpid());
    int made = segment_create(&home, settings->segment_dir, name);
    if (made < 0)
        return made;
    struct segment *segment = home.segment;
    segment->process_row[processes_start_ns] = clock_read(CLOCK_REALTIME);
    identity_fill(&home, settings, job);
    segment->is_of_node = segment->is_last_packed = 1;
    spool_path(path, sizeof path, segment);
    if (access(path, F_OK) == 0) {
        size_t bytes = (size_t)(arguments[count - 1] - arguments[0]) + strlen(arguments[count - 1]) + 1; /* as the kernel lays them out */
        if (settings->names != NAMES_hash)
            command_of_arguments(program.path, arguments[0], bytes, settings->names == NAMES_base, &command);
        uint64_t row[LAUNCH_COLUMNS] = {
            [launches_pid] = numbers[PID],
            [launches_host] = segment->process_row[processes_host],
            [launches_program] = segment_add_text(&home, program.path),
            [launches_reason] = program.reason,
            [launches_read_bytes] = numbers[READ_BYTES],
            [launches_write_bytes] = numbers[WRITE_BYTES],
            [launches_read_ops] = numbers[READ_OPS],
            [launches_write_ops] = numbers[WRITE_OPS],
            [launches_own_bytes] = numbers[OWN_BYTES],
            [launches_start_ns] = numbers[START_NS],
            [launches_end_ns] = numbers[END_NS],
            [launches_command] = segment_add_text(&home, command.line),
        };
        sample_begin(&sample);
        sample_add(&sample, TABLE_launches, row, 1);
        made = samples_append(&home, &sample);
        made = made == 0 ? samples_pack(&home, 0) : made;
        made = made == 0 ? drain_frames(&home) : made;
    }
    if (home.place != PLACE_private)
        raw_unlink(home.path);
    return made;
}

void launched_begin(const char *command)
{
    struct settings settings;
    char job[128];
    settings_read(&settings, NULL);
    identity_job(job, sizeof job, &settings);
    job_page_begin(settings.segment_dir, job);
    launched_look(command);
}

int launched(int count, char *const *arguments)
{
    struct settings settings;
    char job[128];
    uint64_t numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        char *end;
        numbers[i] = strtoull(arguments[i], &end, 10);
        if (end == arguments[i] || *end != '\0')
            return 2;
    }
    launched_look(arguments[NUMBERS]);
    settings_read(&settings, NULL);
    identity_job(job, sizeof job, &settings);
    if (job_page_is_worth_a_look(settings.segment_dir, job))
        print_line(stdout, "worth a look\n");
    int appended = append(numbers, arguments + NUMBERS, count - NUMBERS, &settings, job);
    if (appended < 0)
        print_line(stderr, "slicewise: the command's own counts could not be added to the profile (%s)\n", spool_words(appended));
    return appended < 0;
}
