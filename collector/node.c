#include "node.h"

#include "adopt.h"
#include "bounded_io.h"
#include "clock.h"
#include "encode.h"
#include "identity.h"
#include "own_segments.h"
#include "print_line.h"
#include "raw.h"
#include "record.h"
#include "samples.h"
#include "spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

/* Samples wait so long for being written as one frame; a sudden death leaves them in the segment. */
#define FRAME_NS (300 * NS_PER_SECOND)
#define PROMISED_ROUNDS 3 /* so many rounds late, processes no longer count on us */

/* Once: a kernel that does not tell, or may not. */
static void say_refusal(struct node *node)
{
    int error = node->reading.connections.error;
    if (error < 0 && !node->has_said_refusal)
        print_line(stderr, "slicewise: TCP connections to storage are not sampled: the kernel does not tell of them (%s)\n", strerror(-error));
    node->has_said_refusal = node->has_said_refusal || error < 0;
}

/* Once: a kernel that tells its sums to root alone. */
static void say_moved(struct node *node)
{
    int error = node->reading.bpf.error;
    if (error == 0)
        return;
    print_line(stderr, "slicewise: --bpf: the sums cannot be read (%s): reads and writes are not counted by file system; sampling goes on\n",
               strerror(-error));
    node->reading.bpf.map = node->reading.bpf.error = 0;
}

/* Once: what of the job's control group is not counted. Nothing where none was asked for and no scheduler made one. */
static void say_cgroup(const struct cgroup *cgroup, const char *wanted)
{
    char missing[64] = "";
    if (cgroup->path[0] == '\0' && wanted[0] != '\0')
        print_line(stderr,
                   "slicewise: SLICEWISE_CGROUP=%s: no control group of cgroup v2 can be sampled; give a path as in the line \"0::\" of "
                   "/proc/PID/cgroup, or own\n",
                   wanted);
    if (cgroup->path[0] == '\0' || cgroup->missing == 0)
        return;
    for (unsigned file = 0; file < CGROUP_FILES; file++)
        if (cgroup->missing & 1u << file)
            snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s", missing[0] != '\0' ? ", " : "", cgroup_file_name(file));
    print_line(stderr, "slicewise: control group %s: %s cannot be read and is not sampled (that controller is off there, or it may not be read)\n",
               cgroup->path, missing);
}

static int begin_processes(struct node *node, const struct settings *settings, uint32_t launcher)
{
    if (!settings->is_sampling)
        return 0;
    node->visits.profiled = node->profiled = raw_memory(sizeof *node->profiled);
    node->visits.under_way = &node->under_way;
    node->sampled = raw_memory(sizeof *node->sampled);
    if (node->profiled == NULL || node->sampled == NULL)
        return -ENOMEM;
    return sampled_begin(node->sampled, node->reading.root, settings->slice_ns, launcher, identity_scheduler_job());
}

int node_begin(struct node *node, const char *root, const struct settings *settings, const char *job, uint32_t launcher, int moved)
{
    char name[160];
    *node = (struct node){ .slice_ns = settings->slice_ns, .reading.root = root, .reading.bpf.map = moved };
    snprintf(name, sizeof name, "%s.%d", job, raw_getpid());
    int made = segment_create(&node->home, settings->segment_dir, name);
    if (made == 0)
        made = visits_begin(&node->visits);
    if (made == 0)
        made = begin_processes(node, settings, launcher);
    if (made < 0)
        return made;
    struct segment *segment = node->home.segment;
    if (settings->is_group_readable && node->home.place != PLACE_private)
        segment_share(&node->home);
    segment->pid_namespace = adopt_pid_namespace();
    segment->process_row[processes_start_ns] = clock_read(CLOCK_REALTIME);
    identity_fill(&node->home, settings, job);
    segment->is_of_node = segment->is_last_packed = 1; /* whoever finishes it writes its samples, and makes no process of it */
    atomic_store(&segment->state, SEGMENT_LIVE);
    if (!connections_ask_for(&node->reading.connections, settings->storage_ports))
        print_line(stderr, "slicewise: SLICEWISE_STORAGE_PORTS=%s: not ports or ranges of ports with commas between them, as 2222,49152-60999\n",
                   settings->storage_ports);
    cgroup_find(&node->reading.cgroup, root, settings->cgroup, identity_scheduler_job());
    if (launcher != 0) /* its children begin in its groups */
        limits_meet_one(&node->reading.limits, root, launcher);
    sources_read(&node->reading);
    say_refusal(node);
    say_moved(node);
    say_cgroup(&node->reading.cgroup, settings->cgroup);
    node->sampled_until_ns = segment->process_row[processes_start_ns];
    node->sampled_until_steady_ns = clock_read(CLOCK_MONOTONIC);
    return 0;
}

/* Not the kernel's count of the process for its parent: that begins with the program that it was before exec. */
uint64_t node_most_bytes(void)
{
    char text[4096];
    const char *peak = raw_read_file("/proc/self/status", text, sizeof text) > 0 ? strstr(text, "VmHWM:") : NULL;
    return peak != NULL ? strtoull(peak + 6, NULL, 10) << 10 : 0;
}

static void add_run(struct sample *sample, const struct node *node)
{
    const struct segment *segment = node->home.segment;
    struct sysinfo system = { 0 };
    sysinfo(&system);
    uint64_t row[NODE_COLUMNS] = {
        [nodes_host] = segment->process_row[processes_host],
        [nodes_pid] = segment->pid,
        [nodes_slice_ns] = node->slice_ns,
        [nodes_start_ns] = segment->process_row[processes_start_ns],
        [nodes_end_ns] = node->sampled_until_ns,
        [nodes_processors] = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
        [nodes_memory_bytes] = (uint64_t)system.totalram * system.mem_unit,
        [nodes_cost_ns] = clock_read(CLOCK_PROCESS_CPUTIME_ID),
        [nodes_cost_bytes] = node_most_bytes(),
        [nodes_drained_bytes] = node->visits.drained_bytes,
        [nodes_samples_late] = node->samples_late,
        [nodes_devices_full] = node->reading.devices_left_out,
        [nodes_job] = segment->process_row[processes_job],
        [nodes_processes_refused] = node->sampled != NULL ? node->sampled->refused : 0,
        [nodes_processes_left_out] = node->sampled != NULL ? node->sampled->left_out : 0,
        [nodes_others_refused] = node->others.refused,
        [nodes_others_left_out] = node->others.left_out,
    };
    sample_add(sample, TABLE_nodes, row, 1);
}

/* A count that went back was begun anew: what it has now came since. */
static uint64_t since(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

/* A level is taken as it stands at the sample's end: a column whose highest value stays where rows of one key add up (tables.def). */
static bool is_level(enum table table, unsigned column)
{
    enum { KEY, SUM, MAX, LAST };
    static const bool levels[] = {
#define TABLE(name, rows, meaning) false,
#define COLUMN(table, name, type, unit, merge, ...) (merge) == MAX,
#include "tables.def"
    };
    static const unsigned short starts[] = {
#define TABLE(name, rows, meaning) TABLE_START_##name,
#define COLUMN(...)
#include "tables.def"
    };
    return levels[starts[table] + 1 + column];
}

/* What a column has in a row: its level, or what came since the reading before. */
static uint64_t value_of(enum table table, unsigned column, const uint64_t *before, const uint64_t *now)
{
    return is_level(table, column) ? now[column] : since(before[column], now[column]);
}

static void add_node_slice(struct sample *sample, const struct node *node, uint64_t slice, uint64_t sampled_ns)
{
    const struct reading *reading = &node->reading;
    uint64_t row[NODE_SLICE_COLUMNS];
    for (unsigned column = 0; column < NODE_SLICE_COLUMNS; column++)
        row[column] = value_of(TABLE_node_slices, column, reading->before, reading->now);
    row[node_slices_slice] = slice;
    row[node_slices_sampled_ns] = sampled_ns;
    sample_add(sample, TABLE_node_slices, row, 1);
}

enum { SLICE_COLUMN, DEVICE_COLUMN, FIRST_VALUE };
_Static_assert((int)node_networks_received_bytes == FIRST_VALUE && (int)node_blocks_read_ops == FIRST_VALUE &&
                   (int)node_nfs_program_read_bytes == FIRST_VALUE && (int)node_lustre_read_ops == FIRST_VALUE &&
                   (int)node_connections_sent_bytes == FIRST_VALUE && (int)node_cgroups_io_stall_ns == FIRST_VALUE &&
                   (int)node_cgroup_disks_read_bytes == FIRST_VALUE && (int)node_cgroup_mounts_read_bytes == FIRST_VALUE &&
                   (int)node_waits_waiting_ns == FIRST_VALUE && (int)node_limits_read_bytes == FIRST_VALUE &&
                   (int)node_lustre_slice == SLICE_COLUMN && (int)node_lustre_device == DEVICE_COLUMN,
               "tables of devices begin with their two keys");

/* Connections at rest have levels, too, and make no row. */
static uint64_t is_worth_a_row(enum table table, unsigned column, uint64_t value)
{
    return is_level(table, column) && table == TABLE_node_connections ? 0 : value;
}

static void add_devices_of(struct sample *sample, const struct node *node, enum table table, uint64_t slice)
{
    static uint64_t rows[DEVICES_MAX * DEVICE_VALUES_MAX];
    const struct reading *reading = &node->reading;
    unsigned count = 0, columns = encode_columns(table);
    for (unsigned i = 0; i < reading->devices_used; i++) {
        const struct device *device = &reading->devices[i];
        if (sources_table(device->kind) != table || !device->is_present || !device->was_present)
            continue;
        uint64_t *row = rows + (size_t)count * columns, any = 0;
        for (unsigned column = FIRST_VALUE; column < columns; column++) {
            row[column] = value_of(table, column, device->before, device->now);
            any |= is_worth_a_row(table, column, row[column]);
        }
        row[SLICE_COLUMN] = slice;
        row[DEVICE_COLUMN] = i;
        count += any != 0;
    }
    sample_add(sample, table, rows, count);
}

static void add_new_devices(struct sample *sample, struct node *node)
{
    uint64_t rows[DEVICES_MAX][NODE_DEVICE_COLUMNS];
    unsigned count = 0;
    for (unsigned i = node->devices_packed; i < node->reading.devices_used; i++) {
        const struct device *device = &node->reading.devices[i];
        uint64_t *row = rows[count++];
        if (i == node->devices_named) {
            node->names[i].name = segment_add_text(&node->home, device->name);
            node->names[i].source = segment_add_text(&node->home, device->source);
            node->devices_named++;
        }
        row[node_devices_device] = i;
        row[node_devices_kind] = device->kind;
        row[node_devices_name] = node->names[i].name;
        row[node_devices_source] = node->names[i].source;
    }
    sample_add(sample, TABLE_node_devices, rows[0], count);
}

_Static_assert(SAMPLE_WORDS_MAX >= 1 + (1 + NODE_COLUMNS) + (1 + NODE_SLICE_COLUMNS) + (1 + DEVICES_MAX * NODE_DEVICE_COLUMNS) +
                                       (7 + DEVICES_MAX * DEVICE_VALUES_MAX),
               "the largest sample fits");

void node_sample(struct node *node, uint64_t now_ns)
{
    static struct sample sample;
    static const enum table tables[] = { TABLE_node_networks,    TABLE_node_blocks,  TABLE_node_nfs,          TABLE_node_lustre,
                                         TABLE_node_connections, TABLE_node_cgroups, TABLE_node_cgroup_disks, TABLE_node_cgroup_mounts,
                                         TABLE_node_waits,       TABLE_node_limits };
    uint64_t steady_ns = clock_read(CLOCK_MONOTONIC), slice = node->sampled_until_ns / node->slice_ns, former_end_ns = node->sampled_until_ns;
    sources_read(&node->reading);
    say_refusal(node);
    say_moved(node);
    node->sampled_until_ns = now_ns;
    sample_begin(&sample);
    add_run(&sample, node);
    add_new_devices(&sample, node);
    add_node_slice(&sample, node, slice, steady_ns - node->sampled_until_steady_ns);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        add_devices_of(&sample, node, tables[i], slice);
    if (samples_append(&node->home, &sample) == 0) {
        node->sampled_until_steady_ns = steady_ns;
        node->devices_packed = node->reading.devices_used;
        node->samples++;
    } else {
        sources_take_back(&node->reading);
        node->sampled_until_ns = former_end_ns;
        node->samples_late++;
    }
    if (samples_kept(node->home.segment) == 1)
        node->frame_due_ns = steady_ns + FRAME_NS;
    if (samples_kept(node->home.segment) == SAMPLES_MAX || steady_ns >= node->frame_due_ns)
        node_drain(node);
}

void node_look(struct node *node)
{
    if (node->sampled == NULL)
        return;
    sampled_look(node->sampled, node->profiled);
    if (node->sampled->refused > 0 && !node->has_said_processes)
        print_line(stderr, "slicewise: the kernel does not tell what some processes of the job read and write, as of set-user-ID programs: "
                           "they are named in the profile and not counted\n");
    node->has_said_processes |= node->sampled->refused > 0;
}

bool node_can_watch(const struct node *node)
{
    const struct belonging *belonging = node->sampled != NULL ? &node->sampled->belonging : NULL;
    for (unsigned i = 0; belonging != NULL && i < belonging->used; i++)
        if (belonging->seen[i].is_of_job)
            return true;
    return false;
}

void node_watch(struct node *node)
{
    uint64_t now_ns = clock_read(CLOCK_MONOTONIC);
    if (!node_can_watch(node))
        return;
    waiting_look(&node->reading.waiting, &node->under_way, &node->sampled->belonging, now_ns);
    sources_meet(&node->reading, &node->sampled->belonging, now_ns);
}

void node_look_at_others(struct node *node)
{
    others_link_ask(&node->others, node->sampled);
}

static void keep_processes(struct node *node)
{
    static struct sample sample;
    sample_begin(&sample);
    sampled_add_rows(node->sampled, &node->home, &sample);
    if (sample.words[0] == 1 || samples_append(&node->home, &sample) == 0)
        sampled_are_kept(node->sampled);
}

static void keep_others(struct node *node)
{
    static struct sample sample;
    sample_begin(&sample);
    others_link_add_rows(&node->others, &sample);
    if (sample.words[0] > 1 && samples_append(&node->home, &sample) == 0)
        others_link_are_kept(&node->others);
}

void node_sample_processes(struct node *node)
{
    if (node->sampled != NULL) {
        sampled_settle(node->sampled, node->profiled);
        keep_processes(node);
    }
    others_link_take(&node->others);
    keep_others(node);
    if (samples_kept(node->home.segment) == SAMPLES_MAX)
        node_drain(node);
}

bool node_is_busy(const struct node *node)
{
    return node->sampled != NULL && sampled_is_busy(node->sampled);
}

/* A node where no process of the job has been, profiled or sampled, has no profile, and we begin none unless told to. What was drained does not
 * tell: another run of the same name, which writes elsewhere, has its segments in the same place. */
static enum answer has_profile(const struct node *node)
{
    char path[1100];
    spool_path(path, sizeof path, node->home.segment);
    bool has_samples_of_job = node->sampled != NULL && node->sampled->next_number > 0;
    return node->is_for_samples || has_samples_of_job ? ANSWER_YES : bounded_io_is_there(node->home.segment->spool_dir, path);
}

int node_drain(struct node *node)
{
    int packed;
    switch (has_profile(node)) {
    case ANSWER_YES: packed = samples_pack(&node->home, 0); return packed < 0 ? packed : drain_frames(&node->home);
    case ANSWER_NO: return 0;
    default: return -SPOOL_LATE;
    }
}

void node_visit(struct node *node, const char *segment_dir, const char *job, uint64_t next_ns, bool looks_closely)
{
    char prefix[160];
    snprintf(prefix, sizeof prefix, "%s.", job);
    node->visits.alive = node->visits.failed = 0;
    node->visits.until_ns = next_ns != 0 ? clock_read(CLOCK_MONOTONIC) + PROMISED_ROUNDS * next_ns + NS_PER_SECOND : 0;
    node->visits.looks_closely = looks_closely;
    if (node->profiled != NULL)
        node->profiled->used = 0;
    own_segments_each(segment_dir, prefix, visit_segment, NULL, &node->visits);
    node->most_alive = node->visits.alive > node->most_alive ? node->visits.alive : node->most_alive;
}

int node_end(struct node *node)
{
    if (node->sampled != NULL)
        sampled_end(node->sampled);
    node_sample_processes(node);
    node_sample(node, clock_read(CLOCK_REALTIME));
    int drained = node_drain(node);
    if (drained == 0 && node->home.place != PLACE_private)
        raw_unlink(node->home.path);
    return drained;
}
