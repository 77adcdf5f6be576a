/* Which of the jobs that are in an I/O phase may go now. Plain functions without state and without I/O: the same rules as those of
 * analyzer/slicewise/analysis/policies/replay.py, which replays the coordinator's log. docs/coordination.md has the rules, their ties and their
 * source. Jobs are given in the order of their arrival. */
#ifndef SLICEWISE_POLICY_H
#define SLICEWISE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* POLICY_shortest is one more that only `dynamic` considers. */
enum policy {
#define TURN_POLICY(name, meaning) POLICY_##name,
#include "enums.def"
    POLICIES,
    POLICY_shortest = POLICIES,
};
enum metric { METRIC_cpu_seconds, METRIC_sum_interference, METRIC_makespan, METRIC_worst_slowdown, METRICS };
extern const char *const policy_names[POLICIES], *const metric_names[METRICS];

/* The place of `name` in a list of so many names, or -1. */
int policy_of_name(const char *const *names, int count, const char *name);

/* A job from the beginning of an I/O phase to its end, whether it goes or waits. */
struct present {
    uint64_t sequence;        /* its place in the order of arrival; all ties are broken by it */
    double arrived_seconds;
    double asked_seconds;     /* what the whole phase takes alone */
    double remaining_seconds; /* what is left of that */
    double weight;            /* of its share */
    double demand;            /* the share of the storage that it fills alone */
    double processes;
    double period_seconds;    /* from the beginning of one phase to that of the next; 0: not known */
    uint64_t targets;         /* that it uses, a bit each; jobs that share none do not wait for each other */
    double served_seconds;    /* what of it the storage can have done while it was going, as if alone */
    double rate;              /* scratch of the functions below */
    bool is_going;            /* not read by policy_decide */
    bool is_chosen;           /* what policy_decide says */
};

struct rule {
    enum policy policy;
    enum metric metric;
    double delay_seconds;
};

/* The set that it belongs to under a rule, below POLICY_SETS: jobs of different sets do not wait for each other, either. */
enum { POLICY_SETS = 20 };
unsigned policy_set(const struct rule *rule, const struct present *job);

/* Sets is_chosen of each: whether it may go. */
void policy_decide(const struct rule *rule, struct present *const *jobs, unsigned count, double now);

/* Lets what remains of those who are going fall, for so long. */
void policy_advance(struct present *const *jobs, unsigned count, double seconds);

#endif
