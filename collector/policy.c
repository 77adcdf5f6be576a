#include "policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_TIME 1e-9
#define FULL (1 + 1e-9)
#define SAME_COST 1e-6
#define SHORTEST_PERIOD 3.1622776601683793e-6 /* of the second of the sets by periods: 10 to the power of -5.5 */
enum { MOST_CONSIDERED = 16 };

const char *const policy_names[POLICIES] = {
#define TURN_POLICY(name, meaning) #name,
#include "enums.def"
};
const char *const metric_names[METRICS] = { "cpu_seconds", "sum_interference", "makespan", "worst_slowdown" };

int policy_of_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* What remains over what a second of waiting costs: Smith's rule, the best order where one goes at a time. */
static double shortest_index(const struct present *job, enum metric metric)
{
    return metric == METRIC_cpu_seconds ? job->remaining_seconds / job->processes : job->remaining_seconds * job->asked_seconds;
}

static bool is_shorter(const struct present *one, const struct present *other, enum metric metric)
{
    double index = shortest_index(one, metric), others = shortest_index(other, metric);
    return index < others || (index == others && one->sequence < other->sequence);
}

/* The shortest of them in order, at most MOST_CONSIDERED. Returns how many. */
static unsigned shortest_first(struct present *const *jobs, unsigned count, enum metric metric, struct present **ordered)
{
    unsigned used = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned place = used;
        while (place > 0 && is_shorter(jobs[i], ordered[place - 1], metric))
            place--;
        if (place == MOST_CONSIDERED)
            continue;
        used += used < MOST_CONSIDERED;
        memmove(ordered + place + 1, ordered + place, (used - 1 - place) * sizeof *ordered);
        ordered[place] = jobs[i];
    }
    return used;
}

/* From the first on, as many as the storage serves without any of them being held up. */
static void choose_those_that_fit(struct present *const *jobs, unsigned count, enum metric metric)
{
    struct present *ordered[MOST_CONSIDERED];
    unsigned used = shortest_first(jobs, count, metric, ordered);
    for (unsigned i = 0; i < used; i++) {
        double demand = 0;
        for (unsigned before = 0; before < i; before++)
            demand += (ordered[before]->targets & ordered[i]->targets) != 0 ? ordered[before]->demand : 0;
        ordered[i]->is_chosen = demand <= 0 || demand + ordered[i]->demand <= FULL;
    }
}

/* The rounded decimal logarithm of the period, counted from 1 on (Set-10); 0: the jobs whose period is not known. */
static unsigned set_of_period(double seconds)
{
    unsigned set = seconds > 0;
    for (double bound = SHORTEST_PERIOD; set > 0 && set < POLICY_SETS - 1 && seconds >= bound; bound *= 10)
        set++;
    return set;
}

unsigned policy_set(const struct rule *rule, const struct present *job)
{
    return rule->policy == POLICY_set10 ? set_of_period(job->period_seconds) : 0;
}

/* Who comes before all of his set that share a target with him. */
static void choose_first(const struct rule *rule, struct present *const *jobs, unsigned count, bool is_last_first)
{
    uint64_t taken[POLICY_SETS] = { 0 };
    for (unsigned i = 0; i < count; i++) {
        struct present *job = jobs[is_last_first ? count - 1 - i : i];
        uint64_t *of_set = &taken[policy_set(rule, job)];
        job->is_chosen |= (*of_set & job->targets) == 0;
        *of_set |= job->targets;
    }
}

static void choose(enum policy policy, const struct rule *rule, struct present *const *jobs, unsigned count, double now)
{
    for (unsigned i = 0; i < count; i++)
        jobs[i]->is_chosen =
            policy == POLICY_interfere || (policy == POLICY_delay && now >= jobs[i]->arrived_seconds + rule->delay_seconds - SAME_TIME);
    if (policy == POLICY_shortest)
        choose_those_that_fit(jobs, count, rule->metric);
    else if (policy != POLICY_interfere)
        choose_first(rule, jobs, count, policy == POLICY_interrupt);
}

/* Weighted max-min shares of a capacity of 1 among those of them that are chosen (or that are going), as fair_rates of
 * analysis/sharing/proportional.py; the others have a rate of 0. */
static void share_out(struct present *const *jobs, unsigned count, bool by_going)
{
    double left = 1;
    for (unsigned i = 0; i < count; i++)
        jobs[i]->rate = (by_going ? jobs[i]->is_going : jobs[i]->is_chosen) ? -1 : 0; /* below 0: hungry */
    for (;;) {
        double weights = 0, level;
        bool is_any_sated = false;
        for (unsigned i = 0; i < count; i++)
            weights += jobs[i]->rate < 0 ? jobs[i]->weight : 0;
        if (weights <= 0)
            return;
        level = left / weights;
        for (unsigned i = 0; i < count; i++)
            if (jobs[i]->rate < 0 && jobs[i]->demand <= level * jobs[i]->weight) {
                jobs[i]->rate = jobs[i]->demand;
                left -= jobs[i]->demand;
                is_any_sated = true;
            }
        left = left > 0 ? left : 0;
        for (unsigned i = 0; i < count && !is_any_sated; i++)
            if (jobs[i]->rate < 0)
                jobs[i]->rate = level * jobs[i]->weight;
        if (!is_any_sated)
            return;
    }
}

void policy_advance(struct present *const *jobs, unsigned count, double seconds)
{
    share_out(jobs, count, true);
    for (unsigned i = 0; i < count; i++) {
        double done = jobs[i]->rate / jobs[i]->demand * seconds, remaining = jobs[i]->remaining_seconds - done;
        jobs[i]->served_seconds += done;
        jobs[i]->remaining_seconds = remaining > 0 ? remaining : 0;
    }
}

/* What following `policy` from now on would cost, if nobody else came. */
static double predict(enum policy policy, const struct rule *rule, struct present *const *jobs, unsigned count, double now)
{
    struct present copies[MOST_CONSIDERED], *left[MOST_CONSIDERED];
    unsigned used = count;
    double began = now, most = 0;
    long double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        copies[i] = *jobs[i];
        left[i] = &copies[i];
    }
    for (;;) {
        unsigned kept = 0;
        for (unsigned i = 0; i < used; i++) {
            const struct present *job = left[i];
            if (job->remaining_seconds > SAME_TIME) {
                left[kept++] = left[i];
                continue;
            }
            double took = now - job->arrived_seconds, slowdown = took / job->asked_seconds;
            sum += rule->metric == METRIC_cpu_seconds ? job->processes * took : slowdown;
            most = slowdown > most ? slowdown : most;
        }
        used = kept;
        if (used == 0)
            break;
        choose(policy, rule, left, used, now);
        share_out(left, used, false);
        double step = INFINITY;
        for (unsigned i = 0; i < used; i++) {
            double until = left[i]->arrived_seconds + rule->delay_seconds;
            double end = left[i]->rate > 0 ? left[i]->remaining_seconds / (left[i]->rate / left[i]->demand) : INFINITY;
            step = end < step ? end : step;
            if (policy == POLICY_delay && until > now + SAME_TIME && until - now < step)
                step = until - now;
        }
        now += step;
        for (unsigned i = 0; i < used; i++)
            left[i]->remaining_seconds -= left[i]->rate / left[i]->demand * step;
    }
    return rule->metric == METRIC_makespan ? now - began : rule->metric == METRIC_worst_slowdown ? most : (double)sum;
}

static int by_arrival(const void *one, const void *other)
{
    const struct present *first = *(struct present *const *)one, *second = *(struct present *const *)other;
    return first->sequence < second->sequence ? -1 : first->sequence > second->sequence;
}

/* What the rule does whose predicted cost is the least; of equal ones the first in this order. */
static void choose_dynamically(const struct rule *rule, struct present *const *jobs, unsigned count, double now)
{
    static const enum policy candidates[] = { POLICY_interfere, POLICY_fcfs, POLICY_interrupt, POLICY_delay, POLICY_shortest };
    struct present *considered[MOST_CONSIDERED];
    enum policy best = POLICY_interfere;
    double least = INFINITY;
    for (unsigned i = 0; i < count; i++)
        jobs[i]->is_chosen = false;
    if (count > MOST_CONSIDERED) {
        count = shortest_first(jobs, count, rule->metric, considered);
        qsort(considered, count, sizeof *considered, by_arrival);
        jobs = considered;
    }
    for (unsigned i = 0; i < sizeof candidates / sizeof *candidates && count > 1; i++) {
        if (candidates[i] == POLICY_delay && rule->delay_seconds <= 0)
            continue;
        double cost = predict(candidates[i], rule, jobs, count, now);
        if (cost < least * (1 - SAME_COST)) {
            best = candidates[i];
            least = cost;
        }
    }
    choose(best, rule, jobs, count, now);
}

void policy_decide(const struct rule *rule, struct present *const *jobs, unsigned count, double now)
{
    if (rule->policy == POLICY_dynamic)
        choose_dynamically(rule, jobs, count, now);
    else
        choose(rule->policy, rule, jobs, count, now);
}
