#include "others.h"

#include "clock.h"
#include "raw.h"

#include <stdlib.h>
#include <string.h>

/* So often all processes are looked at anew: numbers are used again, and users change. */
enum { FULL_LOOKS = 16, DEBT_LOOKS = 2, ANCESTORS_MAX = 64, FIRST_PROCESS = 1 };
#define COLLECTOR_NAME "slicewise-collec" /* as the kernel cuts it */

int others_begin(struct others *others, const char *root, uint64_t slice_ns, uint32_t job_user, bool is_named)
{
    *others = (struct others){
        .root = root,
        .is_named = is_named,
        .job_user = job_user,
        .self = (uint32_t)raw_getpid(),
        .slice_ns = slice_ns,
        .seen = raw_memory(OTHERS_MAX * sizeof(struct other)),
        .before = raw_memory(OTHERS_MAX * sizeof(struct other)),
    };
    others->users[0].user = USER_NOT_NAMED;
    return others->seen != NULL && others->before != NULL ? 0 : -ENOMEM;
}

static struct other *find(struct other *table, unsigned used, uint32_t pid)
{
    return procfs_find(&pid, table, used, sizeof *table);
}

/* Who it is. Returns false if it is gone. */
static bool identify(struct others *others, struct other *one, bool is_known)
{
    struct process_look look;
    if (procfs_look(others->root, one->pid, &look) != 0)
        return false;
    if (!is_known || one->start_ticks != look.start_ticks)
        *one = (struct other){ .pid = one->pid, .owner = one->owner, .inode = one->inode, .start_ticks = look.start_ticks, .is_new = true };
    one->parent = look.parent;
    one->is_kernels = look.is_kernels;
    if (one->is_kernels)
        return true;
    one->user = procfs_user(others->root, one->pid);
    one->is_counted_elsewhere |= one->pid == others->self || (one->user == 0 && strcmp(look.name, COLLECTOR_NAME) == 0);
    if (one->is_new) {
        one->inner_pid = procfs_inner_pid(others->root, one->pid);
        one->pid_namespace = procfs_pid_namespace(others->root, one->pid);
        one->looked = (struct looked){ .at_ns = procfs_began_ns(one->start_ticks) };
    }
    return true;
}

/* Looks at one process, of which `one` has what was known before. Returns false if it is gone. */
static bool look_at(struct others *others, struct other *one, bool is_known, bool is_full)
{
    uint32_t owner = 0;
    uint64_t inode = 0, before_ns = clock_read(CLOCK_REALTIME);
    one->is_new = false;
    if (is_known && one->is_kernels && !is_full)
        return true;
    int wrong = procfs_owned_counts(others->root, one->pid, one->now, &owner, &inode);
    bool is_refused = wrong == -EACCES || wrong == -EPERM;
    if (wrong < 0 && !is_refused)
        return false;
    one->looked_now = looked_since(before_ns);
    bool is_same = is_known && !is_full && inode == one->inode && owner == one->owner;
    one->inode = inode;
    one->owner = owner;
    struct looked looked_now = one->looked_now;
    uint64_t now[KERNEL_COUNTS];
    memcpy(now, one->now, sizeof now);
    if (!is_same && !identify(others, one, is_known))
        return false;
    one->looked_now = looked_now;
    memcpy(one->now, now, sizeof now);
    one->now[COUNT_CPU] = 0;
    others->refused += is_refused && !one->is_refused && !one->is_kernels;
    one->is_refused = is_refused;
    return true;
}

void others_look(struct others *others)
{
    static uint32_t pids[OTHERS_MAX];
    long count = procfs_list(others->root, pids, OTHERS_MAX);
    bool is_full = others->looks % FULL_LOOKS == 0;
    struct other *before = others->seen;
    unsigned at = 0;
    others->seen = others->before;
    others->before = before;
    others->before_used = others->used;
    others->used = 0;
    others->left_out += count == OTHERS_MAX;
    for (long i = 0; i < count; i++) {
        while (at < others->before_used && before[at].pid < pids[i])
            at++;
        bool is_known = at < others->before_used && before[at].pid == pids[i];
        struct other *one = &others->seen[others->used];
        *one = is_known ? before[at] : (struct other){ .pid = pids[i] };
        others->used += look_at(others, one, is_known, is_full);
    }
    /* Whoever lost its parent has another one. */
    for (unsigned i = 0; i < others->used; i++) {
        struct other *one = &others->seen[i];
        struct process_look look;
        if (!one->is_kernels && one->parent != 0 && find(others->seen, others->used, one->parent) == NULL &&
            procfs_look(others->root, one->pid, &look) == 0 && look.start_ticks == one->start_ticks)
            one->parent = look.parent;
    }
}

static bool has_segment(const struct profiled_by_users *profiled, const struct other *one)
{
    uint32_t pid = one->inner_pid != 0 ? one->inner_pid : one->pid;
    const struct profiled_by_user *end = profiled->of + profiled->used, *segment = procfs_find(&pid, profiled->of, profiled->used, sizeof *segment);
    while (segment != NULL && segment > profiled->of && segment[-1].pid == pid)
        segment--;
    for (; segment != NULL && segment < end && segment->pid == pid; segment++) {
        bool is_users = segment->user == one->user || segment->user == one->owner; /* nobody hides another user's processes */
        bool is_there = segment->pid_namespace == one->pid_namespace || one->pid_namespace == 0;
        bool is_its = segment->created_ns == 0 || one->start_ticks * PROCESS_TICK_NS <= segment->created_ns + PROCESS_TICK_NS;
        if (is_users && is_there && is_its)
            return true;
    }
    return false;
}

static bool is_own(const struct others *others, const struct own *own, unsigned own_used, const struct other *one)
{
    const struct own *found = procfs_find(&one->pid, own, own_used, sizeof *own);
    bool may_be = one->user == others->job_user || others->job_user == 0;
    return may_be && found != NULL && found->start_ticks == one->start_ticks;
}

/* Counts begin with what is read now. */
static void begin_here(struct other *one)
{
    memcpy(one->counts, one->now, sizeof one->counts);
    one->looked = one->looked_now;
    memset(one->debt, 0, sizeof one->debt);
    one->has_pending = one->has_threads = false;
}

static bool has_ended(const struct others *others, const struct other *one)
{
    struct process_look look;
    return procfs_look(others->root, one->pid, &look) != 0 || look.has_ended;
}

/* Who has a segment, or had one at the look before, or is the job's, is counted elsewhere; whoever has none any more counts from here on. */
static void tell_apart(struct others *others, const struct profiled_by_users *profiled, const struct own *own, unsigned own_used)
{
    for (unsigned i = 0; i < others->used; i++) {
        struct other *one = &others->seen[i];
        if (one->is_kernels || one->pid == others->self)
            continue;
        bool is_elsewhere = has_segment(profiled, one) || is_own(others, own, own_used, one);
        bool was_elsewhere = one->is_counted_elsewhere;
        one->without_segment = is_elsewhere ? 0 : one->without_segment + 1;
        one->is_counted_elsewhere = is_elsewhere || (was_elsewhere && (one->without_segment < 2 || has_ended(others, one)));
        if (one->is_counted_elsewhere || was_elsewhere)
            begin_here(one);
    }
}

static bool is_of_another_kind(const struct other *child, const struct other *parent)
{
    return child->user != parent->user || (child->is_counted_elsewhere && !parent->is_counted_elsewhere);
}

static void mix(struct others *others, struct other *one)
{
    if (one->is_kernels || one->is_counted_elsewhere)
        return;
    one->is_mixed = true;
    if (!one->has_threads)
        one->has_threads = procfs_thread_counts(others->root, one->pid, one->by_threads) == 0;
}

/* Who waits for it, or for whoever did: the nearest ancestor that still lives. */
static struct other *reaper_of(struct others *others, const struct other *gone)
{
    uint32_t parent = gone->parent;
    for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
        struct other *alive = find(others->seen, others->used, parent);
        if (alive != NULL && alive->start_ticks <= gone->start_ticks)
            return alive;
        const struct other *before = find(others->before, others->before_used, parent);
        if (before == NULL)
            break;
        parent = before->parent;
    }
    return find(others->seen, others->used, FIRST_PROCESS);
}

static struct other_user *user_of(struct others *others, uint32_t user)
{
    struct other_user *free = NULL;
    uint32_t named = others->is_named || user == others->job_user ? user : USER_NOT_NAMED;
    for (unsigned i = 0; i < OTHER_USERS_MAX; i++) {
        struct other_user *one = &others->users[i];
        bool is_used = i == 0;
        for (unsigned j = 0; j < PENDING_SLICES; j++)
            is_used |= one->pending_slices[j].is_used;
        if (is_used && one->user == named)
            return one;
        free = !is_used && free == NULL ? one : free;
    }
    if (free == NULL)
        return &others->users[0];
    *free = (struct other_user){ .user = named };
    return free;
}

static void add(struct others *others, uint32_t user, const struct looked *from, const struct looked *to, const uint64_t counts[KERNEL_COUNTS])
{
    struct pending_slice spread[PENDING_SLICES] = { 0 };
    uint64_t any = 0;
    for (int i = 0; i < COUNT_CPU; i++)
        any |= counts[i];
    if (any == 0)
        return;
    pending_slices_add(spread, others->slice_ns, from, to, counts);
    struct other_user *its = user_of(others, user);
    for (unsigned i = 0; i < PENDING_SLICES; i++) {
        if (!spread[i].is_used)
            continue;
        struct pending_slice *pending = pending_slices_find(its->pending_slices, spread[i].slice);
        for (int j = 0; j < COUNT_CPU; j++)
            pending->counts[j] += spread[i].counts[j];
        pending->unsure_ns = spread[i].unsure_ns > pending->unsure_ns ? spread[i].unsure_ns : pending->unsure_ns;
    }
}

static void add_pending(struct others *others, struct other *one)
{
    if (one->has_pending)
        add(others, one->user, &one->pending_from, &one->pending_to, one->pending);
    one->has_pending = false;
}

/* Those that were there at the last look and are not now: what was counted of them comes again with the counts of whoever waited for them. */
static void settle_gone(struct others *others)
{
    for (unsigned i = 0; i < others->before_used; i++) {
        struct other *gone = &others->before[i];
        const struct other *same = find(others->seen, others->used, gone->pid);
        if (gone->is_kernels || (same != NULL && same->start_ticks == gone->start_ticks))
            continue;
        struct other *reaper = reaper_of(others, gone);
        /* A short one below a profiled process most likely had a profile too. */
        if (!gone->is_counted_elsewhere && (reaper == NULL || !reaper->is_counted_elsewhere))
            add_pending(others, gone);
        if (reaper == NULL || reaper->is_counted_elsewhere)
            continue;
        if (is_of_another_kind(gone, reaper))
            mix(others, reaper);
        for (int j = 0; j < COUNT_CPU; j++)
            reaper->debt[j] += gone->counts[j] + gone->debt[j];
        reaper->debt_looks = DEBT_LOOKS;
    }
}

/* What the process's counts grew by, without what was counted of its children already. Returns false where that cannot be told. */
static bool grown(struct others *others, struct other *one, uint64_t more[KERNEL_COUNTS])
{
    uint64_t threads[KERNEL_COUNTS] = { 0 }, any = 0;
    more[COUNT_CPU] = 0;
    for (int i = 0; i < COUNT_CPU; i++)
        any |= more[i] = one->now[i] > one->counts[i] ? one->now[i] - one->counts[i] : 0;
    if (any == 0 || !one->is_mixed) {
        bool has_debt = false;
        for (int i = 0; i < COUNT_CPU; i++) {
            uint64_t paid = more[i] < one->debt[i] ? more[i] : one->debt[i];
            more[i] -= paid;
            one->debt[i] -= paid;
            has_debt |= one->debt[i] > 0;
        }
        if (has_debt && one->debt_looks-- == 0) /* nobody waited for that child: its counts come nowhere */
            memset(one->debt, 0, sizeof one->debt);
        return true;
    }
    memset(one->debt, 0, sizeof one->debt);
    bool is_told = procfs_thread_counts(others->root, one->pid, threads) == 0;
    for (int i = 0; i < COUNT_CPU && is_told; i++) {
        uint64_t own = one->has_threads && threads[i] > one->by_threads[i] ? threads[i] - one->by_threads[i] : 0;
        more[i] = own < more[i] ? own : more[i];
    }
    memcpy(one->by_threads, threads, sizeof threads);
    one->has_threads = is_told;
    return is_told;
}

static void settle_living(struct others *others, struct other *one)
{
    uint64_t more[KERNEL_COUNTS];
    bool is_first_of_all = others->looks == 0;
    if (one->is_kernels || one->is_refused || one->is_counted_elsewhere)
        return;
    if (is_first_of_all) {
        memcpy(one->counts, one->now, sizeof one->counts);
        one->looked = one->looked_now;
        return;
    }
    if (!one->is_new)
        add_pending(others, one);
    if (!grown(others, one, more))
        others->left_out++;
    else if (one->is_new) {
        one->has_pending = true;
        memcpy(one->pending, more, sizeof more);
        one->pending_from = one->looked;
        one->pending_to = one->looked_now;
    } else {
        add(others, one->user, &one->looked, &one->looked_now, more);
    }
    memcpy(one->counts, one->now, sizeof one->counts);
    one->looked = one->looked_now;
}

/* Of the users who moved anything since the last look. */
static void count_processes(struct others *others)
{
    for (unsigned i = 0; i < OTHER_USERS_MAX; i++) {
        struct other_user *user = &others->users[i];
        uint64_t processes = 0;
        bool is_any = false;
        for (unsigned j = 0; j < PENDING_SLICES; j++)
            is_any |= user->pending_slices[j].is_used;
        for (unsigned j = 0; is_any && j < others->used; j++) {
            const struct other *one = &others->seen[j];
            bool is_named = others->is_named || one->user == others->job_user;
            processes += !one->is_kernels && !one->is_counted_elsewhere && (is_named ? one->user : USER_NOT_NAMED) == user->user;
        }
        for (unsigned j = 0; j < PENDING_SLICES; j++)
            if (user->pending_slices[j].is_used && processes > user->processes[j])
                user->processes[j] = processes;
    }
}

void others_settle(struct others *others, const struct profiled_by_users *profiled, const struct own *own, unsigned own_used)
{
    if (profiled->is_cut) { /* who is profiled is not known */
        others->left_out++;
        for (unsigned i = 0; i < others->used; i++)
            begin_here(&others->seen[i]);
        return;
    }
    tell_apart(others, profiled, own, own_used);
    for (unsigned i = 0; i < others->used; i++) {
        const struct other *one = &others->seen[i];
        struct other *parent = one->is_kernels ? NULL : find(others->seen, others->used, one->parent);
        if (parent != NULL && (is_of_another_kind(one, parent) || parent->pid == FIRST_PROCESS) && !parent->has_threads)
            mix(others, parent);
    }
    settle_gone(others);
    for (unsigned i = 0; i < others->used; i++)
        settle_living(others, &others->seen[i]);
    count_processes(others);
    others->looks++;
}

unsigned others_take(struct others *others, struct others_row rows[OTHER_ROWS_MAX])
{
    unsigned used = 0;
    for (unsigned i = 0; i < OTHER_USERS_MAX; i++) {
        struct other_user *user = &others->users[i];
        for (unsigned j = 0; j < PENDING_SLICES; j++) {
            struct pending_slice *pending = &user->pending_slices[j];
            if (!pending->is_used)
                continue;
            struct others_row *row = &rows[used++];
            *row =
                (struct others_row){ .user = user->user, .slice = pending->slice, .processes = user->processes[j], .unsure_ns = pending->unsure_ns };
            memcpy(row->counts, pending->counts, sizeof row->counts);
            pending->is_used = false;
            user->processes[j] = 0;
        }
    }
    return used;
}
