#include "belonging.h"

#include "adopt.h"
#include "raw.h"

#include <stdlib.h>

/* So often all processes are looked at anew: numbers are used again. */
enum { FULL_SCAN_ROUNDS = 16 };

int belonging_begin(struct belonging *belonging, const char *root, uint32_t launcher, const char *scheduler_job)
{
    *belonging = (struct belonging){
        .root = root,
        .self = (uint32_t)raw_getpid(),
        .launcher = launcher,
        .pid_namespace = adopt_pid_namespace(),
        .seen = raw_memory(SEEN_MAX * sizeof(struct seen)),
        .before = raw_memory(SEEN_MAX * sizeof(struct seen)),
    };
    if (scheduler_job != NULL)
        procfs_cgroup_of_job(root, scheduler_job, false, belonging->cgroup, sizeof belonging->cgroup);
    return belonging->seen != NULL && belonging->before != NULL ? 0 : -ENOMEM;
}

static struct seen *find(const struct belonging *belonging, uint32_t pid)
{
    return procfs_find(&pid, belonging->seen, belonging->used, sizeof *belonging->seen);
}

/* Everybody who is there; of those who were there before what was known of them. */
static void take_in(struct belonging *belonging, const uint32_t *pids, long count)
{
    struct seen *before = belonging->seen;
    unsigned before_used = belonging->used, at = 0;
    bool is_full = belonging->scans++ % FULL_SCAN_ROUNDS == 0;
    belonging->seen = belonging->before;
    belonging->before = before;
    belonging->used = 0;
    for (long i = 0; i < count; i++) {
        while (at < before_used && before[at].pid < pids[i])
            at++;
        bool is_known = at < before_used && before[at].pid == pids[i];
        struct seen *one = &belonging->seen[belonging->used];
        if (is_known && !is_full) {
            *one = before[at];
            belonging->used++;
            continue;
        }
        struct process_look look;
        if (procfs_look(belonging->root, pids[i], &look) != 0)
            continue;
        if (is_known && before[at].start_ticks == look.start_ticks)
            *one = before[at];
        else
            *one = (struct seen){ .pid = pids[i], .start_ticks = look.start_ticks, .is_kernels = look.is_kernels };
        one->parent = look.parent;
        one->session = look.session;
        one->is_of_job |= !look.is_kernels && (pids[i] == belonging->attached || procfs_is_in_cgroup(belonging->root, pids[i], belonging->cgroup));
        belonging->used++;
    }
}

static bool is_of_job(const struct belonging *belonging, const struct seen *one)
{
    if (one->parent == 0 || one->parent == belonging->self)
        return false;
    if (belonging->launcher != 0 && one->parent == belonging->launcher)
        return true;
    const struct seen *parent = find(belonging, one->parent);
    if (parent != NULL && parent->is_of_job && parent->start_ticks <= one->start_ticks)
        return true;
    const struct seen *leader = find(belonging, one->session);
    return leader != NULL && leader->is_of_job && leader->start_ticks <= one->start_ticks;
}

static void mark_profiled(struct belonging *belonging, const struct profiled *profiled)
{
    for (unsigned i = 0; i < profiled->used; i++) {
        struct seen *one = profiled->of[i].pid_namespace == belonging->pid_namespace ? find(belonging, profiled->of[i].pid) : NULL;
        if (one != NULL) {
            one->is_of_job |= !profiled->of[i].is_elsewhere;
            one->profiled_scan = belonging->scans;
        }
    }
}

void belonging_scan(struct belonging *belonging, const struct profiled *profiled)
{
    static uint32_t pids[SEEN_MAX];
    long count = procfs_list(belonging->root, pids, SEEN_MAX);
    if (count < 0)
        return;
    belonging->is_cut |= count == SEEN_MAX;
    take_in(belonging, pids, count);
    mark_profiled(belonging, profiled);
    /* Parents mostly have lower numbers: one pass finds all descendants but for those whose numbers began anew. */
    for (bool is_more = true; is_more;) {
        is_more = false;
        for (unsigned i = 0; i < belonging->used; i++) {
            struct seen *one = &belonging->seen[i];
            bool is_nobodys = one->is_kernels || one->pid == belonging->self || one->pid == belonging->launcher;
            if (is_nobodys)
                one->is_of_job = false;
            else if (!one->is_of_job && is_of_job(belonging, one))
                one->is_of_job = is_more = true;
        }
    }
}

unsigned belonging_some(const struct belonging *belonging, unsigned *next, unsigned most, struct seen **found, unsigned *of_job)
{
    unsigned place = 0, count = 0;
    *of_job = 0;
    for (unsigned i = 0; i < belonging->used; i++)
        *of_job += belonging->seen[i].is_of_job;
    if (*of_job == 0)
        return 0;
    unsigned looks = *of_job < most ? *of_job : most, first = *next % *of_job;
    for (unsigned i = 0; i < belonging->used; i++)
        if (belonging->seen[i].is_of_job && (place++ + *of_job - first) % *of_job < looks)
            found[count++] = &belonging->seen[i];
    *next = first + looks;
    return count;
}
