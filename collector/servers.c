#include "servers.h"

#include "background.h"
#include "bounded_io.h"
#include "clock.h"
#include "encode.h"
#include "format.h"
#include "identity.h"
#include "node.h"
#include "print_line.h"
#include "raw.h"
#include "record.h"
#include "served.h"
#include "spool.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    ROWS_A_FRAME = 2048,
    NAMES_A_FRAME = 512, /* their text has room in the segment */
    SAMPLES_BETWEEN_NAMES = 16, /* so often names are written again: a file's end is enough to know who is at work, and damage costs few names */
    SLICES_SPREAD_MAX = 32, /* what was pending for longer is laid in so many slices of that time */
    DAY_BYTES = 16,
};
#define QUIET_NS (300 * NS_PER_SECOND) /* so often the run's own row is written where nothing was served */

/* The profile of one file system and day. */
struct servers_file {
    struct segment_home home;
    bool is_open, has_failed;
    char day[DAY_BYTES];
    uint64_t start_ns, written_ns, late;
    uint64_t text_used; /* of the texts that stay */
    uint64_t host, storage, type;
};

/* One frame. */
struct batch {
    uint64_t run[SERVER_RUN_COLUMNS];
    unsigned rows_used, jobs_used, targets_used, entries_used;
    uint64_t rows[ROWS_A_FRAME][SERVER_SLICE_COLUMNS], jobs[NAMES_A_FRAME][SERVER_JOB_COLUMNS], targets[SERVED_TARGETS_MAX][SERVER_TARGET_COLUMNS];
    uint32_t entries[ROWS_A_FRAME];
    struct served_job *named_jobs[NAMES_A_FRAME];
    struct served_target *named_targets[SERVED_TARGETS_MAX];
};

struct servers {
    struct settings settings;
    struct served served;
    struct servers_file files[SERVED_STORAGES_MAX];
    struct batch batch;
    uint64_t pending_since_ns, samples;
};

/* A chunk has so many rows at most. */
static void encode_in_chunks(struct encoder *encoder, const struct segment *segment, enum table table, const uint64_t *rows, unsigned count)
{
    for (unsigned first = 0; first < count; first += FILES_MAX)
        encode_table(encoder, segment, table, rows + (size_t)first * encode_columns(table), count - first < FILES_MAX ? count - first : FILES_MAX);
}

static void encode_batch(struct encoder *encoder, const struct segment *segment, const void *argument)
{
    const struct batch *batch = argument;
    encode_table(encoder, segment, TABLE_server_runs, batch->run, 1);
    encode_table(encoder, segment, TABLE_server_targets, batch->targets[0], batch->targets_used);
    encode_table(encoder, segment, TABLE_server_jobs, batch->jobs[0], batch->jobs_used);
    encode_in_chunks(encoder, segment, TABLE_server_slices, batch->rows[0], batch->rows_used);
}

static void fill_run(const struct servers *servers, const struct servers_file *file, uint64_t now_ns, uint64_t run[SERVER_RUN_COLUMNS])
{
    const uint64_t row[SERVER_RUN_COLUMNS] = {
        [server_runs_host] = file->host,
        [server_runs_pid] = file->home.segment->pid,
        [server_runs_storage] = file->storage,
        [server_runs_type] = file->type,
        [server_runs_slice_ns] = servers->settings.slice_ns,
        [server_runs_start_ns] = file->start_ns,
        [server_runs_end_ns] = now_ns,
        [server_runs_cost_ns] = clock_read(CLOCK_PROCESS_CPUTIME_ID),
        [server_runs_cost_bytes] = node_most_bytes(),
        [server_runs_left_out] = servers->served.left_out,
        [server_runs_damaged] = servers->served.damaged,
        [server_runs_late] = file->late,
    };
    memcpy(run, row, sizeof row);
}

static void begin_batch(struct servers *servers, struct servers_file *file, uint64_t now_ns)
{
    struct batch *batch = &servers->batch;
    batch->rows_used = batch->jobs_used = batch->targets_used = batch->entries_used = 0;
    file->home.segment->text_used = (uint32_t)file->text_used;
    fill_run(servers, file, now_ns, batch->run);
}

/* Returns 0, or -errno: then all that is in it is pending still. */
static int end_batch(struct servers *servers, struct servers_file *file, unsigned storage)
{
    struct batch *batch = &servers->batch;
    int packed = pack_payload(&file->home, encode_batch, batch, FORMAT_LAST_FRAME);
    if (packed < 0)
        return packed;
    for (unsigned i = 0; i < batch->entries_used; i++)
        memset(servers->served.entries[batch->entries[i]].pending, 0, sizeof servers->served.entries[0].pending);
    for (unsigned i = 0; i < batch->jobs_used; i++)
        batch->named_jobs[i]->is_named |= (uint8_t)(1u << storage);
    for (unsigned i = 0; i < batch->targets_used; i++)
        batch->named_targets[i]->is_named = true;
    return 0;
}

static bool is_in(const struct batch *batch, const struct served_job *job)
{
    for (unsigned i = batch->jobs_used; i-- > 0;)
        if (batch->named_jobs[i] == job)
            return true;
    return false;
}

static void add_names(struct servers *servers, struct servers_file *file, const struct served_entry *entry, unsigned storage)
{
    struct batch *batch = &servers->batch;
    struct served_job *job = &servers->served.jobs[entry->job];
    struct served_target *target = &servers->served.targets[entry->target];
    bool has_target = target->is_named;
    for (unsigned i = 0; i < batch->targets_used && !has_target; i++)
        has_target = batch->named_targets[i] == target;
    if (!has_target) {
        uint64_t *row = batch->targets[batch->targets_used];
        batch->named_targets[batch->targets_used++] = target;
        row[server_targets_target] = entry->target;
        row[server_targets_name] = segment_add_text(&file->home, target->name);
        row[server_targets_address] = segment_add_text(&file->home, target->address);
    }
    if ((job->is_named >> storage & 1) == 0 && !is_in(batch, job)) {
        uint64_t *row = batch->jobs[batch->jobs_used];
        batch->named_jobs[batch->jobs_used++] = job;
        row[server_jobs_job] = job->number;
        row[server_jobs_name] = segment_add_text(&file->home, job->name);
        row[server_jobs_is_client] = job->is_client;
    }
}

/* Lays what is pending in the slices of its time: evenly, and with the same sum. */
static void add_rows(struct servers *servers, const struct served_entry *entry, uint64_t first, unsigned slices, uint64_t step)
{
    struct batch *batch = &servers->batch;
    for (unsigned slice = 0; slice < slices; slice++) {
        uint64_t *row = batch->rows[batch->rows_used], any = 0;
        row[server_slices_slice] = first + slice * step;
        row[server_slices_target] = entry->target;
        row[server_slices_job] = servers->served.jobs[entry->job].number;
        for (unsigned i = 0; i < SERVED_COUNTS; i++) {
            uint64_t share = entry->pending[i] / slices, rest = entry->pending[i] % slices;
            row[server_slices_read_bytes + i] = share + (slice < rest);
            any |= row[server_slices_read_bytes + i];
        }
        batch->rows_used += any != 0;
    }
}
_Static_assert((int)server_slices_read_bytes + (int)SERVED_COUNTS == (int)SERVER_SLICE_COLUMNS, "the counts are the table's, in its order");

/* All that is pending of a file system. Returns 0, or -errno: then the rest stays pending. */
static int write_pending(struct servers *servers, struct servers_file *file, unsigned storage, uint64_t now_ns)
{
    struct served *served = &servers->served;
    struct batch *batch = &servers->batch;
    uint64_t slice_ns = servers->settings.slice_ns, first = servers->pending_since_ns / slice_ns, last = (now_ns - 1) / slice_ns;
    uint64_t count = last >= first ? last - first + 1 : 1, step = 1;
    if (now_ns % slice_ns < slice_ns / 4 && count > 1)
        count--; /* looks are made just after a slice's turn: what they find is of the slices before */
    for (; count > SLICES_SPREAD_MAX; count = (count + 1) / 2)
        step *= 2;
    begin_batch(servers, file, now_ns);
    for (unsigned i = 0; i < served->entries_used; i++) {
        const struct served_entry *entry = &served->entries[i];
        if (served->targets[entry->target].storage != storage || !served_is_pending(entry))
            continue;
        if (batch->rows_used + count > ROWS_A_FRAME || batch->jobs_used == NAMES_A_FRAME) {
            int ended = end_batch(servers, file, storage);
            if (ended < 0)
                return ended;
            begin_batch(servers, file, now_ns);
        }
        add_names(servers, file, entry, storage);
        add_rows(servers, entry, first, (unsigned)count, step);
        batch->entries[batch->entries_used++] = i;
    }
    bool is_due = now_ns > file->written_ns + QUIET_NS;
    int ended = batch->rows_used > 0 || is_due ? end_batch(servers, file, storage) : 0;
    if (ended == 0 && (batch->rows_used > 0 || is_due))
        file->written_ns = now_ns;
    return ended;
}

static int drain(struct servers_file *file)
{
    char spool[1100];
    int drained = drain_frames(&file->home);
    if (drained < 0) {
        file->late++;
        spool_path(spool, sizeof spool, file->home.segment);
        if (!file->has_failed)
            print_line(stderr, "slicewise: %s: cannot be written (%s): counts are kept, and written when it can be\n", spool, spool_words(drained));
    }
    file->has_failed = drained < 0;
    return drained;
}

static int close_file(struct servers_file *file)
{
    if (!file->is_open)
        return 0;
    int drained = drain(file);
    if (drained == 0 && file->home.place != PLACE_private)
        raw_unlink(file->home.path); /* else whoever recovers finds it */
    segment_unmap(&file->home);
    file->is_open = false;
    return drained;
}

static void day_of(uint64_t ns, char day[DAY_BYTES])
{
    time_t seconds = (time_t)(ns / NS_PER_SECOND);
    struct tm date;
    gmtime_r(&seconds, &date);
    strftime(day, DAY_BYTES, "%Y-%m-%d", &date);
}

static int open_file(struct servers *servers, struct servers_file *file, unsigned storage, uint64_t now_ns, const char *day)
{
    const struct served_storage *about = &servers->served.storages[storage];
    char wanted[JOB_NAME_BYTES], job[JOB_NAME_BYTES], name[160];
    struct settings settings = servers->settings;
    snprintf(wanted, sizeof wanted, "servers.%s.%s", about->name, day);
    settings.job = wanted;
    identity_job(job, sizeof job, &settings);
    snprintf(name, sizeof name, ".servers.%u.%d", storage, raw_getpid());
    int made = segment_create(&file->home, settings.segment_dir, name);
    if (made < 0)
        return made;
    struct segment *segment = file->home.segment;
    if (settings.is_group_readable && file->home.place != PLACE_private)
        segment_share(&file->home);
    file->start_ns = segment->process_row[processes_start_ns] = clock_read(CLOCK_REALTIME);
    identity_note(&settings, job);
    identity_fill(&file->home, &settings, job);
    segment->is_of_node = segment->is_last_packed = 1; /* whoever finishes it writes its frames, and makes no process of it */
    file->host = segment->process_row[processes_host];
    file->storage = segment_add_text(&file->home, about->name);
    file->type = segment_add_text(&file->home, about->type);
    file->text_used = segment->text_used;
    file->written_ns = now_ns;
    snprintf(file->day, sizeof file->day, "%s", day);
    file->is_open = true;
    served_forget_names(&servers->served, storage);
    return 0;
}

static void sample(struct servers *servers)
{
    uint64_t now_ns = clock_read(CLOCK_REALTIME);
    char day[DAY_BYTES];
    bool is_all_written = true;
    if (servers->pending_since_ns == 0 || servers->pending_since_ns > now_ns) /* the clock may have been set back */
        servers->pending_since_ns = now_ns;
    served_look(&servers->served, now_ns);
    servers->samples++;
    day_of(servers->pending_since_ns, day);
    for (unsigned storage = 0; storage < servers->served.storages_used; storage++) {
        struct servers_file *file = &servers->files[storage];
        if (file->is_open && strcmp(file->day, day) != 0)
            close_file(file);
        if (servers->samples % SAMPLES_BETWEEN_NAMES == 0)
            served_forget_names(&servers->served, storage);
        int written = file->is_open ? 0 : open_file(servers, file, storage, now_ns, day);
        if (written == 0)
            written = write_pending(servers, file, storage, now_ns);
        if (file->is_open)
            drain(file); /* what found no place in its frames stays pending */
        is_all_written &= written == 0;
    }
    if (is_all_written)
        servers->pending_since_ns = now_ns;
}

static int run_attached(struct servers *servers, int ready)
{
    char lock_path[SEGMENT_DIR_PATH_BYTES];
    if (!background_take_lock(&servers->settings, "servers", lock_path)) {
        print_line(stdout, "slicewise: this node's servers are sampled already\n");
        return 0;
    }
    background_take_signals();
    bounded_io_begin(servers->settings.exit_ns);
    sample(servers);
    if (servers->served.targets_used == 0)
        print_line(stderr,
                   "slicewise: nothing here keeps counts by job or client that may be read: neither obdfilter.*.job_stats and mdt.*.job_stats of "
                   "Lustre nor connections of clients; looking on\n");
    if (ready >= 0)
        background_let_go(ready);
    while (background_sleep_until(background_next_multiple(clock_read(CLOCK_REALTIME), servers->settings.slice_ns), -1))
        sample(servers);
    sample(servers);
    int ended = 0;
    for (unsigned storage = 0; storage < SERVED_STORAGES_MAX; storage++) {
        int closed = close_file(&servers->files[storage]);
        ended = closed < 0 ? closed : ended;
    }
    if (ended < 0)
        print_line(stderr, "slicewise: counts are kept in %s: mend that, then run `slicewise recover`\n", servers->settings.segment_dir);
    print_line(stdout, "slicewise: %lu samples of %u targets; cost %.2f s of a processor and %.1f MiB\n", servers->samples,
               servers->served.targets_used, (double)clock_read(CLOCK_PROCESS_CPUTIME_ID) / 1e9, (double)node_most_bytes() / (1 << 20));
    fflush(stdout);
    raw_unlink(lock_path);
    return ended < 0;
}

int servers_run(const struct servers_options *options)
{
    static struct servers servers;
    int status, ready = -1;
    settings_read(&servers.settings, background_complain);
    servers.served.root = options->root != NULL && strcmp(options->root, "/") != 0 ? options->root : "";
    servers.served.source = options->source != NULL ? options->source : "";
    if (options->is_detached) {
        ready = background_detach(&status);
        if (status >= 0)
            return status;
    }
    return run_attached(&servers, ready);
}
