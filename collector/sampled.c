#include "sampled.h"

#include "clock.h"
#include "json_text.h"
#include "raw.h"

#include <stdio.h>
#include <string.h>

int sampled_begin(struct sampled *sampled, const char *root, uint64_t slice_ns, uint32_t launcher, const char *scheduler_job)
{
    sampled->slice_ns = slice_ns;
    sampled->file_systems.root = root;
    return belonging_begin(&sampled->belonging, root, launcher, scheduler_job);
}

/* What the process itself read and wrote: without the children that it waited for, whom the kernel adds to it, and who are followed, or
 * profiled, by themselves. From the first of them on its living threads are looked at; what threads did that ended meanwhile is missing then. */
static int own_counts(const struct belonging *belonging, struct followed *one, const struct process_look *look, uint64_t own[KERNEL_COUNTS])
{
    uint64_t by_threads[KERNEL_COUNTS] = { 0 };
    int wrong;
    if (!look->has_reaped) {
        wrong = procfs_counts(belonging->root, one->pid, own);
        own[COUNT_CPU] = look->cpu_ns;
        return wrong;
    }
    wrong = procfs_thread_counts(belonging->root, one->pid, by_threads);
    if (wrong < 0)
        return wrong;
    for (int i = 0; i < COUNT_CPU; i++) {
        uint64_t before = one->is_by_threads ? one->by_threads[i] : one->counts[i];
        own[i] = one->counts[i] + (by_threads[i] > before ? by_threads[i] - before : 0);
    }
    own[COUNT_CPU] = look->cpu_ns; /* the kernel keeps children's apart */
    one->is_by_threads = true;
    memcpy(one->by_threads, by_threads, sizeof by_threads);
    return 0;
}

/* Counts begin with what comes now. */
static void begin_here(struct followed *one, const uint64_t counts[KERNEL_COUNTS], struct looked looked)
{
    memcpy(one->counts, counts, sizeof one->counts);
    one->looked = looked;
    one->is_from_start = false;
    descriptors_begin(&one->descriptors, counts, false);
}

/* A place that nobody has, or NULL. */
static struct followed *free_place(struct sampled *sampled)
{
    unsigned at = 0;
    while (at < FOLLOWED_MAX && sampled->followed[at].state != FOLLOWED_FREE)
        at++;
    if (at == FOLLOWED_MAX)
        return NULL;
    sampled->followed_used = at >= sampled->followed_used ? at + 1 : sampled->followed_used;
    return &sampled->followed[at];
}

static void begin_anew(struct followed *one)
{
    one->state = FOLLOWED_NEW;
    one->number = one->moved_bytes = 0;
    one->rounds = 0;
    one->first_ns = one->looked.at_ns;
    one->is_from_start = false;
    descriptors_begin(&one->descriptors, one->counts, false);
}

/* Another program took the place of the one that was sampled: that one has ended, and this one is to be known first. */
static void succeed(struct sampled *sampled, struct followed *one, const char *program)
{
    struct followed *ended = free_place(sampled);
    if (ended != NULL) {
        *ended = *one;
        ended->is_gone = ended->has_unsaid_end = true;
        memset(one->pending_slices, 0, sizeof one->pending_slices);
    }
    begin_anew(one);
    memcpy(one->program, program, sizeof one->program);
}

static void look_at(struct sampled *sampled, struct followed *one)
{
    const char *root = sampled->belonging.root;
    struct process_look look;
    uint64_t own[KERNEL_COUNTS] = { 0 }, more[KERNEL_COUNTS];
    char program[PROCESS_NAME_BYTES];
    if (procfs_look(root, one->pid, &look) != 0 || look.start_ticks != one->start_ticks) {
        one->is_gone = true;
        return;
    }
    uint64_t before_ns = clock_read(CLOCK_REALTIME);
    int wrong = own_counts(&sampled->belonging, one, &look, own);
    struct looked looked = looked_since(before_ns);
    if (wrong == -EACCES || wrong == -EPERM) {
        sampled->refused++;
        one->state = FOLLOWED_REFUSED;
        one->number = ++sampled->next_number;
        one->looked = looked;
        one->has_unsaid_end = true;
        return;
    }
    if (wrong < 0)
        return;
    for (int i = 0; i < KERNEL_COUNTS; i++)
        more[i] = own[i] > one->counts[i] ? own[i] - one->counts[i] : 0;
    pending_slices_add(one->pending_slices, sampled->slice_ns, &one->looked, &looked, more);
    one->moved_bytes += more[0] + more[1];
    memcpy(one->counts, own, sizeof own);
    one->looked = looked;
    /* A zombie has no executable any more. */
    if (procfs_program(root, one->pid, program) < 0 || strcmp(program, one->program) == 0)
        return;
    if (one->state == FOLLOWED_SAMPLED)
        succeed(sampled, one, program);
    else
        memcpy(one->program, program, sizeof program);
}

/* Somebody of the job who has no segment, for the first time. */
static void follow(struct sampled *sampled, struct seen *seen)
{
    const struct belonging *belonging = &sampled->belonging;
    struct process_look look;
    struct followed *one = free_place(sampled);
    if (one == NULL) {
        sampled->left_out += !seen->is_left_out;
        seen->is_left_out = true;
        return;
    }
    if (procfs_look(belonging->root, seen->pid, &look) != 0 || look.start_ticks != seen->start_ticks || look.has_ended)
        return;
    *one = (struct followed){
        .state = FOLLOWED_NEW,
        .pid = seen->pid,
        .inner_pid = procfs_inner_pid(belonging->root, seen->pid),
        .parent = look.parent,
        .user = procfs_user(belonging->root, seen->pid),
        .start_ticks = seen->start_ticks,
        .pid_namespace = procfs_pid_namespace(belonging->root, seen->pid),
        .start_ns = procfs_began_ns(seen->start_ticks),
        .first_ns = clock_read(CLOCK_REALTIME),
        .is_from_start = true,
        .descriptors.is_begun = true,
    };
    one->looked = (struct looked){ .at_ns = one->start_ns };
    if (procfs_program(belonging->root, seen->pid, one->program) < 0)
        memcpy(one->program, look.name, sizeof look.name);
    /* One that was there before we were, that had a segment, or whose children's counts are in its own by now: nobody knows when it moved what. */
    uint64_t counts[KERNEL_COUNTS] = { 0 };
    bool is_late = belonging->scans == 1 || seen->profiled_scan != 0;
    if (is_late && own_counts(belonging, one, &look, counts) == 0)
        begin_here(one, counts, looked_since(one->first_ns));
}

static bool is_followed(const struct sampled *sampled, const struct seen *seen)
{
    for (unsigned i = 0; i < sampled->followed_used; i++)
        if (sampled->followed[i].state != FOLLOWED_FREE && !sampled->followed[i].is_gone && sampled->followed[i].pid == seen->pid &&
            sampled->followed[i].start_ticks == seen->start_ticks)
            return true;
    return false;
}

static bool has_segment(const struct profiled *profiled, uint64_t pid_namespace, uint32_t inner_pid)
{
    for (unsigned i = 0; i < profiled->used; i++)
        if (profiled->of[i].pid == inner_pid && (profiled->of[i].pid_namespace == pid_namespace || pid_namespace == 0))
            return true;
    return false;
}

/* Where they read and write: first of those of whom that is not known. */
static void look_where(struct sampled *sampled)
{
    unsigned used = sampled->followed_used, looked = 0, next = sampled->next_where;
    for (unsigned i = 0; i < 2 * used && looked < DESCRIPTORS_A_LOOK; i++) {
        unsigned at = (sampled->next_where + i) % used;
        struct followed *one = &sampled->followed[at];
        bool is_asked = !one->is_gone && (one->state == FOLLOWED_NEW || one->state == FOLLOWED_SAMPLED);
        if (!is_asked || (one->descriptors.file_systems_used == 0) != (i < used))
            continue;
        looked += descriptors_look(&sampled->file_systems, &one->descriptors, one->pid, one->counts);
        next = at + 1;
    }
    sampled->next_where = used > 0 ? next % used : 0;
    file_systems_end_round(&sampled->file_systems);
}

void sampled_look(struct sampled *sampled, const struct profiled *profiled)
{
    struct belonging *belonging = &sampled->belonging;
    if (profiled->is_cut) /* who is profiled is not known */
        return;
    belonging_scan(belonging, profiled);
    for (unsigned i = 0; i < belonging->used; i++) {
        struct seen *seen = &belonging->seen[i];
        if (seen->is_of_job && seen->profiled_scan != belonging->scans && !is_followed(sampled, seen))
            follow(sampled, seen);
    }
    for (unsigned i = 0; i < sampled->followed_used; i++) {
        struct followed *one = &sampled->followed[i];
        if (!one->is_gone && (one->state == FOLLOWED_NEW || one->state == FOLLOWED_SAMPLED))
            look_at(sampled, one);
        else if (one->state == FOLLOWED_REFUSED || one->state == FOLLOWED_PROFILED) {
            struct process_look look;
            one->is_gone = procfs_look(belonging->root, one->pid, &look) != 0 || look.start_ticks != one->start_ticks;
            one->has_unsaid_end |= one->is_gone && one->state == FOLLOWED_REFUSED;
            one->looked.at_ns = one->is_gone ? one->looked.at_ns : clock_read(CLOCK_REALTIME);
        }
    }
    look_where(sampled);
}

void sampled_settle(struct sampled *sampled, const struct profiled *profiled)
{
    for (unsigned i = 0; i < sampled->followed_used; i++) {
        struct followed *one = &sampled->followed[i];
        bool is_profiled = has_segment(profiled, one->pid_namespace, one->inner_pid) || profiled->is_cut;
        if (one->state == FOLLOWED_FREE || one->state == FOLLOWED_REFUSED)
            continue;
        if (is_profiled && !one->is_gone) {
            one->has_unsaid_end = one->state == FOLLOWED_SAMPLED;
            one->state = FOLLOWED_PROFILED;
            memset(one->pending_slices, 0, sizeof one->pending_slices);
            continue;
        }
        if (one->state == FOLLOWED_PROFILED) {
            struct process_look look;
            uint64_t counts[KERNEL_COUNTS] = { 0 }, before_ns = clock_read(CLOCK_REALTIME);
            if (procfs_look(sampled->belonging.root, one->pid, &look) == 0 && look.start_ticks == one->start_ticks &&
                own_counts(&sampled->belonging, one, &look, counts) == 0) {
                begin_here(one, counts, looked_since(before_ns));
                begin_anew(one);
            }
            continue;
        }
        one->rounds++;
        if (one->state == FOLLOWED_NEW && one->moved_bytes >= SAMPLED_LEAST_BYTES && (one->rounds >= 2 || one->is_gone)) {
            one->state = FOLLOWED_SAMPLED;
            one->number = ++sampled->next_number;
            one->has_unsaid_end = true; /* its row is to be written */
        }
    }
}

/* Its place in the list, or PROGRAMS_MAX. */
static unsigned program_of(const struct sampled *sampled, const char *name)
{
    for (unsigned i = 0; i < sampled->programs_used; i++)
        if (strcmp(sampled->programs[i].name, name) == 0)
            return i;
    return PROGRAMS_MAX;
}

static uint64_t text_of(struct sampled *sampled, struct segment_home *home, const char *name)
{
    unsigned at = program_of(sampled, name);
    if (at == PROGRAMS_MAX && sampled->programs_used < PROGRAMS_MAX) {
        at = sampled->programs_used++;
        memcpy(sampled->programs[at].name, name, sizeof sampled->programs[at].name);
        sampled->programs[at].text = segment_add_text(home, name);
    }
    return at < PROGRAMS_MAX ? sampled->programs[at].text : 0;
}

/* What rows tell of a process in one slice. */
static void add_up(struct sampled *sampled, const struct followed *one, const struct pending_slice *pending)
{
    unsigned at = program_of(sampled, one->program);
    if (at < PROGRAMS_MAX) {
        sampled->programs[at].read_bytes += pending->counts[0];
        sampled->programs[at].write_bytes += pending->counts[1];
    }
}

void sampled_print(const struct sampled *sampled)
{
    printf("[");
    for (unsigned i = 0; sampled != NULL && i < sampled->programs_used; i++) {
        printf(i > 0 ? ", {" : "{");
        json_text("program", sampled->programs[i].name);
        printf(", \"read_bytes\": %lu, \"write_bytes\": %lu}", sampled->programs[i].read_bytes, sampled->programs[i].write_bytes);
    }
    printf("]");
}

static void add_process(struct sampled *sampled, struct segment_home *home, const struct followed *one, uint64_t row[NODE_PROCESS_COLUMNS])
{
    row[node_processes_number] = one->number;
    row[node_processes_pid] = one->pid;
    row[node_processes_inner_pid] = one->inner_pid != 0 ? one->inner_pid : one->pid;
    row[node_processes_parent] = one->parent;
    row[node_processes_user] = one->user;
    row[node_processes_program] = text_of(sampled, home, one->program);
    row[node_processes_start_ns] = one->start_ns;
    row[node_processes_first_ns] = one->first_ns;
    row[node_processes_end_ns] = one->looked.at_ns;
    row[node_processes_is_refused] = one->state == FOLLOWED_REFUSED;
    row[node_processes_is_from_start] = one->is_from_start;
}

enum {
    PLACE_ROWS = FOLLOWED_MAX + FOLLOWED_MAX / 2, /* what finds no room comes with the next sample */
    OTHER_WORDS = 5 + FOLLOWED_MAX * NODE_PROCESS_COLUMNS + FILE_SYSTEMS_MAX * NODE_MOUNT_COLUMNS + PLACE_ROWS * NODE_PROCESS_MOUNT_COLUMNS,
    SLICE_ROWS = (SAMPLE_WORDS_MAX - OTHER_WORDS) / NODE_PROCESS_SLICE_COLUMNS
};
_Static_assert((int)SLICE_ROWS >= (int)FOLLOWED_MAX, "a row of each process fits");
_Static_assert((int)node_process_slices_slice == 1 && (int)node_process_slices_read_bytes == 2, "the values follow the keys");

void sampled_add_rows(struct sampled *sampled, struct segment_home *home, struct sample *sample)
{
    static uint64_t processes[FOLLOWED_MAX * NODE_PROCESS_COLUMNS], slices[SLICE_ROWS * NODE_PROCESS_SLICE_COLUMNS];
    static uint64_t mounts[FILE_SYSTEMS_MAX * NODE_MOUNT_COLUMNS], places[PLACE_ROWS * NODE_PROCESS_MOUNT_COLUMNS];
    unsigned processes_used = 0, slices_used = 0, places_used = 0;
    for (unsigned i = 0; i < sampled->followed_used; i++) {
        struct followed *one = &sampled->followed[i];
        if (one->number == 0 || (one->state != FOLLOWED_SAMPLED && !one->has_unsaid_end))
            continue;
        if (one->has_unsaid_end || one->is_gone)
            add_process(sampled, home, one, processes + (size_t)NODE_PROCESS_COLUMNS * processes_used++);
        uint64_t *rows = places + (size_t)NODE_PROCESS_MOUNT_COLUMNS * places_used;
        places_used += descriptors_rows(&one->descriptors, one->number, rows, PLACE_ROWS - places_used);
        for (unsigned j = 0; j < PENDING_SLICES && slices_used < SLICE_ROWS; j++) {
            if (!one->pending_slices[j].is_used)
                continue;
            uint64_t *row = slices + (size_t)NODE_PROCESS_SLICE_COLUMNS * slices_used++;
            row[node_process_slices_number] = one->number;
            row[node_process_slices_slice] = one->pending_slices[j].slice;
            memcpy(row + node_process_slices_read_bytes, one->pending_slices[j].counts, sizeof one->pending_slices[j].counts);
            row[node_process_slices_unsure_ns] = one->pending_slices[j].unsure_ns;
        }
    }
    sample_add(sample, TABLE_node_processes, processes, processes_used);
    sample_add(sample, TABLE_node_process_slices, slices, slices_used);
    sample_add(sample, TABLE_node_mounts, mounts, file_systems_rows(&sampled->file_systems, home, mounts));
    sample_add(sample, TABLE_node_process_mounts, places, places_used);
}

void sampled_are_kept(struct sampled *sampled)
{
    unsigned slices_used = 0;
    file_systems_are_kept(&sampled->file_systems);
    for (unsigned i = 0; i < sampled->followed_used; i++) {
        struct followed *one = &sampled->followed[i];
        bool has_rows = one->number != 0 && (one->state == FOLLOWED_SAMPLED || one->has_unsaid_end), is_all = true;
        for (unsigned j = 0; j < PENDING_SLICES && has_rows; j++) {
            if (one->pending_slices[j].is_used && slices_used == SLICE_ROWS) {
                is_all = false;
                continue;
            }
            slices_used += one->pending_slices[j].is_used;
            if (one->pending_slices[j].is_used)
                add_up(sampled, one, &one->pending_slices[j]);
            one->pending_slices[j].is_used = false;
        }
        if (has_rows)
            descriptors_are_kept(&one->descriptors);
        one->has_unsaid_end = false;
        if (one->is_gone && is_all)
            *one = (struct followed){ .state = FOLLOWED_FREE };
    }
    while (sampled->followed_used > 0 && sampled->followed[sampled->followed_used - 1].state == FOLLOWED_FREE)
        sampled->followed_used--;
}

void sampled_end(struct sampled *sampled)
{
    for (unsigned i = 0; i < sampled->followed_used; i++)
        sampled->followed[i].has_unsaid_end |= sampled->followed[i].state == FOLLOWED_SAMPLED;
}

bool sampled_is_busy(const struct sampled *sampled)
{
    for (unsigned i = 0; i < sampled->followed_used; i++)
        if (sampled->followed[i].state == FOLLOWED_NEW || sampled->followed[i].state == FOLLOWED_SAMPLED)
            return true;
    return false;
}
