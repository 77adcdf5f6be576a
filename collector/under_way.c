#include "under_way.h"

#include "clock.h"
#include "descriptors.h"
#include "mount.h"
#include "raw.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_UNTOLD = -2, NO_CALL = -1, NOWHERE = -1 };
enum { LEAST_LOOKS = 2 };

/* What is known of a system call by its number: what it does, and which arguments are the descriptors and the most bytes. */
static const struct known_call {
    long number;
    enum call_kind kind;
    bool is_copy;           /* it reads the one and writes the other */
    int from, to, size;     /* arguments; NOWHERE: none */
} known_calls[] = {
    { SYS_read, KIND_read, false, 0, NOWHERE, 2 },
    { SYS_pread64, KIND_read, false, 0, NOWHERE, 2 },
    { SYS_readv, KIND_read, false, 0, NOWHERE, NOWHERE },
    { SYS_preadv, KIND_read, false, 0, NOWHERE, NOWHERE },
    { SYS_preadv2, KIND_read, false, 0, NOWHERE, NOWHERE },
    { SYS_write, KIND_write, false, NOWHERE, 0, 2 },
    { SYS_pwrite64, KIND_write, false, NOWHERE, 0, 2 },
    { SYS_writev, KIND_write, false, NOWHERE, 0, NOWHERE },
    { SYS_pwritev, KIND_write, false, NOWHERE, 0, NOWHERE },
    { SYS_pwritev2, KIND_write, false, NOWHERE, 0, NOWHERE },
    { SYS_fsync, KIND_sync, false, NOWHERE, 0, NOWHERE },
    { SYS_fdatasync, KIND_sync, false, NOWHERE, 0, NOWHERE },
    { SYS_syncfs, KIND_sync, false, NOWHERE, 0, NOWHERE },
    { SYS_sync_file_range, KIND_sync, false, NOWHERE, 0, NOWHERE },
    { SYS_sendfile, KIND_read, true, 1, 0, 3 },
    { SYS_copy_file_range, KIND_read, true, 0, 2, 4 },
    { SYS_splice, KIND_read, true, 0, 2, 4 },
};

static const struct known_call *known(long number)
{
    for (size_t i = 0; i < sizeof known_calls / sizeof *known_calls; i++)
        if (known_calls[i].number == number)
            return &known_calls[i];
    return NULL;
}

static struct under_way *find(struct under_way_table *table, uint32_t pid, uint32_t thread)
{
    for (unsigned i = 0; i < table->used; i++)
        if (table->of[i].pid == pid && table->of[i].thread == thread)
            return &table->of[i];
    return NULL;
}

/* A new one, in the place of whoever was not looked at for the longest time where there is no other. */
static struct under_way *place_for(struct under_way_table *table, uint32_t pid, uint32_t thread)
{
    if (table->of == NULL)
        table->of = raw_memory(UNDER_WAY_MAX * sizeof *table->of);
    if (table->of == NULL)
        return NULL;
    struct under_way *oldest = &table->of[0];
    for (unsigned i = 0; i < table->used; i++)
        oldest = table->of[i].last_ns < oldest->last_ns ? &table->of[i] : oldest;
    struct under_way *one = table->used < UNDER_WAY_MAX ? &table->of[table->used++] : oldest;
    memset(one, 0, sizeof *one);
    one->pid = pid;
    one->thread = thread;
    return one;
}

static void forget(struct under_way_table *table, struct under_way *one)
{
    *one = table->of[--table->used];
}

static uint64_t over(uint64_t more, uint64_t less)
{
    return more > less ? more - less : 0;
}

/* Once for a call that is a long one. */
static void find_where(struct under_way *one, const char *root)
{
    const struct known_call *call = known(one->number);
    one->inner_pid = procfs_inner_pid(root, one->pid);
    one->inner_thread = procfs_inner_pid(root, one->thread);
    one->pid_namespace = procfs_pid_namespace(root, one->pid);
    if (call == NULL) {
        descriptors_latest_mount(root, one->pid, one->point[0], POINT_BYTES);
        memcpy(one->point[1], one->point[0], POINT_BYTES);
        return;
    }
    const int sides[SIDES] = { call->from, call->to };
    for (int side = 0; side < SIDES; side++)
        if (sides[side] != NOWHERE)
            descriptors_mount_of(root, one->pid, (uint32_t)one->argument[sides[side]], one->point[side], POINT_BYTES);
}

/* Returns false where the thread is in no call that could be told of. One that runs at the moment may be within its call all the same: a read
 * or a write that returns is counted. */
static bool look_again(struct under_way *one, const char *root, uint64_t former_ns, bool is_new)
{
    uint64_t counts[KERNEL_COUNTS] = { 0 }, argument[6] = { 0 }, now_ns = clock_read(CLOCK_REALTIME);
    long number = procfs_call(root, one->thread, argument);
    if (number == -EACCES || number == -EPERM)
        number = NUMBER_UNTOLD;
    if (procfs_counts_of_thread(root, one->pid, one->thread, counts) != 0)
        return false;
    const struct known_call *former = is_new ? NULL : known(one->number);
    if (number == -EAGAIN && former != NULL) {
        bool is_counted = former->kind != KIND_sync;
        if (counts[COUNT_READ_CALLS] != one->counts[COUNT_READ_CALLS] || counts[COUNT_WRITE_CALLS] != one->counts[COUNT_WRITE_CALLS])
            return false;
        if (!is_counted)
            return true;
        number = one->number;
        memcpy(argument, one->argument, sizeof argument);
    }
    if (number != NUMBER_UNTOLD && known(number) == NULL)
        return false;
    bool is_same = !is_new && number == one->number && counts[COUNT_READ_CALLS] == one->counts[COUNT_READ_CALLS] &&
                   counts[COUNT_WRITE_CALLS] == one->counts[COUNT_WRITE_CALLS] && memcmp(argument, one->argument, sizeof argument) == 0;
    for (int side = 0; side < SIDES; side++) {
        uint64_t moved = over(counts[COUNT_STORED_READ + side], one->counts[COUNT_STORED_READ + side]);
        /* Since the look before, at another call: without what calls say that they moved. */
        if (!is_same)
            one->begun[side] = over(moved, over(counts[COUNT_READ_BYTES + side], one->counts[COUNT_READ_BYTES + side]));
        one->since[side] = is_same ? one->since[side] + moved : 0;
    }
    if (!is_same) {
        one->earliest_ns = is_new ? former_ns : one->last_ns;
        one->first_ns = now_ns;
        one->looks = 0;
        one->number = number;
        memcpy(one->argument, argument, sizeof argument);
        memset(one->point, 0, sizeof one->point);
    }
    one->looks++;
    one->last_ns = now_ns;
    memcpy(one->counts, counts, sizeof one->counts);
    if (one->looks == LEAST_LOOKS)
        find_where(one, root);
    return true;
}

void under_way_look(struct under_way_table *table, const char *root, uint32_t pid, uint32_t thread, uint64_t former_ns)
{
    struct under_way *one = find(table, pid, thread);
    bool is_new = one == NULL;
    if (is_new)
        one = place_for(table, pid, thread);
    if (one != NULL && !look_again(one, root, former_ns, is_new))
        forget(table, one);
}

/* The mount of files that a process has at a point, or MOUNT_NOT_KNOWN: of two the later one hides the earlier. */
static uint32_t mount_at(const struct segment *segment, const char *point)
{
    uint32_t found = MOUNT_NOT_KNOWN;
    for (uint32_t i = 0; i < segment->mounts_used && i < MOUNTS_MAX && point[0] != '\0'; i++)
        if (segment->mounts[i][mounts_object] == OBJECT_file && strcmp(segment_text(segment, segment->mounts[i][mounts_point]), point) == 0)
            found = i;
    return found;
}

/* By how fast it went on since it was first seen, where it moved anything since; else in the middle of the time in which it can have begun. */
static uint64_t begin_of(const struct under_way *one, uint64_t lower_ns)
{
    uint64_t begun = one->begun[0] + one->begun[1], since = one->since[0] + one->since[1];
    uint64_t lower = one->earliest_ns != 0 ? one->earliest_ns : lower_ns, first = one->first_ns;
    if (lower == 0 || lower > first)
        return first;
    if (since == 0)
        return one->earliest_ns != 0 ? lower + (first - lower) / 2 : lower;
    uint64_t before = (uint64_t)((unsigned __int128)begun * (one->last_ns - first) / since);
    return before < first - lower ? first - before : lower;
}

static unsigned add_rows(const struct under_way *one, const struct segment *copy, struct unfinished *rows, unsigned used)
{
    const struct known_call *call = known(one->number);
    uint64_t lower_ns = copy->last_call_ns > copy->process_row[processes_start_ns] ? copy->last_call_ns : copy->process_row[processes_start_ns];
    uint64_t bytes[SIDES] = { one->begun[0] + one->since[0], one->begun[1] + one->since[1] };
    bool is_sync = call != NULL && call->kind == KIND_sync;
    bool does[SIDES] = { call != NULL ? call->from != NOWHERE : bytes[0] > 0, call != NULL ? call->to != NOWHERE : bytes[1] > 0 };
    for (int side = 0; side < SIDES && used < UNFINISHED_MAX; side++) {
        uint32_t mount = mount_at(copy, one->point[side]);
        if (!does[side] || mount == MOUNT_NOT_KNOWN)
            continue;
        uint64_t most = call != NULL && call->size != NOWHERE ? one->argument[call->size] : UINT64_MAX;
        rows[used++] = (struct unfinished){
            .thread = one->inner_thread,
            .mount = mount,
            .kind = is_sync     ? KIND_sync
                    : side == 0 ? KIND_read
                                : KIND_write,
            .parts = (uint32_t)does[0] + does[1],
            .begin_ns = begin_of(one, lower_ns),
            .first_ns = one->first_ns,
            .last_ns = one->last_ns,
            .bytes = is_sync              ? 0
                     : bytes[side] < most ? bytes[side]
                                          : most,
        };
    }
    return used;
}

void under_way_note(const struct under_way_table *table, int fd, const struct segment *copy)
{
    struct unfinished rows[UNFINISHED_MAX] = { 0 };
    uint32_t used = 0;
    for (unsigned i = 0; i < table->used; i++) {
        const struct under_way *one = &table->of[i];
        if (one->looks >= LEAST_LOOKS && one->inner_pid == copy->pid && one->pid_namespace == copy->pid_namespace)
            used = add_rows(one, copy, rows, used);
    }
    if (used > 0 && raw_write_at(fd, rows, sizeof rows, offsetof(struct segment, unfinished)) == (long)sizeof rows)
        raw_write_at(fd, &used, sizeof used, offsetof(struct segment, unfinished_used));
}
