#include "turns.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_SECONDS 1e-6
#define MOST_SECONDS 1e12 /* of which the millionths fit an integer */
/* Within these bounds what a job claims is put right by what it turned out to need; a job that claims what is further off is not asked. */
#define TRUST_LEAST (1.0 / 16)
#define TRUST_MOST 16.0

struct job {
    struct present present; /* first: a job is found by it */
    uint64_t number, id, joined;
    uint32_t user;
    bool is_present, was_authorised, has_had_phase, is_logged;
    double went_seconds;    /* it was going in this phase, until `since` */
    double since;           /* when it last began to go, or a step last ended */
    double claimed_seconds; /* for this phase, as the members said */
    double trust;           /* what its phases needed over what it claimed */
    double needed_seconds;  /* what they needed, the later ones counting more; 0: none has ended */
    double told_period, learned_period, first_begin; /* of its phases; 0: not known */
    unsigned begins;
    bool was_cut;           /* its last phase was: what comes goes on with it */
    bool is_kept_back;      /* it was served for too long and asks anew: until those are gone that waited then, */
    uint64_t behind;        /* who had come by this number, */
    double until;           /* or at this time */
    struct member *members;
};

#define NEVER 1e300
#define SAME_TIME 1e-9

static double least(double one, double other)
{
    return one < other ? one : other;
}

/* To what the log has of it; nothing here is below 0. */
static double round6(double seconds)
{
    return (double)(int64_t)(least(seconds, MOST_SECONDS) * 1e6 + 0.5) / 1e6;
}

static double most(double one, double other)
{
    return one > other ? one : other;
}

static struct job *job_of(struct present *present)
{
    return (struct job *)present;
}

struct member *turns_members(const struct job *job)
{
    return job->members;
}

bool turns_may_go(const struct job *job)
{
    return job->is_present && job->present.is_going;
}

static void log_event(const struct turns *turns, const char *event, const struct job *job, const char *why)
{
    if (turns->log == NULL)
        return;
    fprintf(turns->log, "{\"time_seconds\":%.6f,\"event\":\"%s\"", turns->now, event);
    if (job != NULL)
        fprintf(turns->log, ",\"job\":%llu", (unsigned long long)job->id);
    if (why != NULL)
        fprintf(turns->log, ",\"why\":\"%s\"", why);
    fputs("}\n", turns->log);
}

/* With the time of day, by which events are found in profiles. */
static void log_start(const struct turns *turns)
{
    struct timespec at;
    if (turns->log == NULL)
        return;
    clock_gettime(CLOCK_REALTIME, &at);
    fprintf(turns->log,
            "{\"time_seconds\":%.6f,\"event\":\"start\",\"policy\":\"%s\",\"metric\":\"%s\",\"delay_seconds\":%.6f,\"unix_seconds\":%lld.%06ld}\n",
            turns->now, policy_names[turns->rule.policy], metric_names[turns->rule.metric], turns->rule.delay_seconds, (long long)at.tv_sec,
            at.tv_nsec / 1000);
}

void turns_start(struct turns *turns, uint64_t now_ns)
{
    turns->began_ns = now_ns;
    turns->rule.delay_seconds = round6(turns->rule.delay_seconds);
    log_start(turns);
}

static double seconds_at(const struct turns *turns, uint64_t now_ns)
{
    return round6((double)(now_ns - turns->began_ns) / 1e9);
}

/* An event is about to happen: who was going has got on since the last one. */
static void advance(struct turns *turns, uint64_t now_ns)
{
    double now = seconds_at(turns, now_ns);
    if (now <= turns->now)
        return;
    policy_advance(turns->present, turns->present_used, now - turns->now);
    turns->now = now;
}

static int by_kind_and_id(const void *one, const void *other)
{
    const struct job *first = *(struct job *const *)one, *second = *(struct job *const *)other;
    if (first->present.is_chosen != second->present.is_chosen)
        return first->present.is_chosen ? 1 : -1;
    return first->id < second->id ? -1 : first->id > second->id;
}

/* After each event: pauses first, so that nobody is told to go before those are told to stop that he is to go instead of. */
static void decide(struct turns *turns)
{
    struct job *changed[TURNS_JOBS_MOST];
    unsigned count = 0;
    turns->events++;
    policy_decide(&turns->rule, turns->present, turns->present_used, turns->now);
    for (unsigned i = 0; i < turns->present_used; i++)
        if (turns->present[i]->is_chosen != turns->present[i]->is_going)
            changed[count++] = job_of(turns->present[i]);
    if (count > 1)
        qsort(changed, count, sizeof changed[0], by_kind_and_id);
    for (unsigned i = 0; i < count; i++) {
        struct job *job = changed[i];
        bool may_go = job->present.is_chosen;
        job->present.is_going = may_go;
        job->went_seconds += may_go ? 0 : turns->now - job->since;
        job->since = turns->now;
        log_event(turns, !may_go ? "pause" : job->was_authorised ? "resume" : "authorise", job, NULL);
        job->was_authorised |= may_go;
        turns->decisions++;
        turns->tell(job, may_go);
    }
}

/* As fast towards a small one as towards a large one. */
static double mean_of_ratios(double one, double other)
{
    return other > one ? one / 2 + other / 2 : 2 * one * other / (one + other);
}

/* What the job claimed is held against what it can have got. Its first phase is left out, for a job that does not know yet how much a phase of its
 * own moves claims one call; and so is one that was cut short, unless it needed more than it claimed by then. */
static void learn_from_phase(struct job *job, double needed, bool is_cut)
{
    if (!job->was_authorised || needed <= 0)
        return;
    if (job->has_had_phase && job->claimed_seconds > 0 && !(is_cut && needed < job->claimed_seconds))
        job->trust = mean_of_ratios(job->trust, needed / job->claimed_seconds);
    job->needed_seconds = job->needed_seconds > 0 ? job->needed_seconds / 2 + needed / 2 : needed;
}

static double believed_seconds(const struct job *job)
{
    bool is_near = job->trust >= TRUST_LEAST && job->trust <= TRUST_MOST;
    return is_near ? job->claimed_seconds * job->trust : job->needed_seconds;
}

static void end_phase(struct turns *turns, struct job *job, double idle_seconds, bool is_cut)
{
    learn_from_phase(job, job->present.served_seconds - idle_seconds, is_cut);
    for (unsigned i = 0; i < turns->present_used; i++)
        if (turns->present[i] == &job->present) {
            memmove(turns->present + i, turns->present + i + 1, (--turns->present_used - i) * sizeof *turns->present);
            break;
        }
    for (struct member *member = job->members; member != NULL; member = member->next)
        member->is_present = member->is_in_step = false;
    job->is_present = false;
    job->has_had_phase = true;
    job->was_cut = is_cut;
    job->present.is_going = false;
}

/* A job's figures are those of its members that are in the phase, put right and rounded. Returns false if none is. */
static bool add_up(const struct turns *turns, struct job *job, double *asked, double *remaining, uint64_t *bytes)
{
    double processes = 0, demand = 0, claimed = 0;
    *asked = *remaining = job->told_period = 0;
    *bytes = job->present.targets = 0;
    for (const struct member *member = job->members; member != NULL; member = member->next)
        if (member->is_present) {
            claimed += member->asked_seconds;
            *remaining += member->remaining_seconds;
            *bytes += member->bytes;
            processes += member->processes;
            demand += member->demand;
            job->present.targets |= member->targets != 0 ? member->targets : UINT64_MAX;
            job->told_period = most(job->told_period, member->period_seconds);
        }
    if (processes <= 0)
        return false;
    job->claimed_seconds = claimed;
    double believed = believed_seconds(job);
    *asked = most(round6(believed), LEAST_SECONDS);
    *remaining = most(round6(*remaining / claimed * believed), LEAST_SECONDS);
    job->present.processes = job->present.weight = least(processes, turns->most_processes);
    job->present.demand = most(round6(least(demand, 1)), LEAST_SECONDS);
    return true;
}

/* The first time with the number that is made of the job's name: who knows name and secret finds it by that. */
static void log_inform(const struct turns *turns, struct job *job, uint64_t bytes, double asked)
{
    if (turns->log == NULL)
        return;
    fprintf(turns->log,
            "{\"time_seconds\":%.6f,\"event\":\"inform\",\"job\":%llu,\"processes\":%.0f,\"weight\":%.0f,\"demand\":%.6f,\"bytes\":%llu,"
            "\"seconds\":%.6f,\"remaining\":%.6f",
            turns->now, (unsigned long long)job->id, job->present.processes, job->present.weight, job->present.demand, (unsigned long long)bytes,
            asked, job->present.remaining_seconds);
    if (job->present.period_seconds > 0)
        fprintf(turns->log, ",\"period\":%.6f", job->present.period_seconds);
    if (job->present.targets != UINT64_MAX)
        fprintf(turns->log, ",\"targets\":\"%016llx\"", (unsigned long long)job->present.targets);
    if (!job->is_logged)
        fprintf(turns->log, ",\"key\":\"%016llx\"", (unsigned long long)job->number);
    job->is_logged = true;
    fputs("}\n", turns->log);
}

/* Whether somebody still waits that a job was put out for: by coming anew, last of all, it must not get the turn from him. */
static bool must_stay_behind(const struct turns *turns, const struct job *job)
{
    unsigned set = policy_set(&turns->rule, &job->present);
    for (unsigned i = 0; i < turns->present_used && turns->now < job->until - SAME_TIME; i++)
        if (turns->present[i]->sequence <= job->behind && (turns->present[i]->targets & job->present.targets) != 0 &&
            policy_set(&turns->rule, turns->present[i]) == set)
            return true;
    return false;
}

/* From the beginning of one phase to that of the next, on average. */
static void learn_period(struct job *job, double now)
{
    if (job->was_cut)
        return;
    if (job->begins++ == 0)
        job->first_begin = now;
    else
        job->learned_period = round6((now - job->first_begin) / (job->begins - 1));
}

static void keep_back(struct turns *turns, struct job *job, bool is_kept_back)
{
    turns->kept_back += is_kept_back - job->is_kept_back;
    job->is_kept_back = is_kept_back;
}

/* A member came, went on, or left others behind: the job's figures change, and it keeps its place. */
static void renew(struct turns *turns, struct job *job)
{
    double asked, remaining;
    uint64_t bytes;
    if (!add_up(turns, job, &asked, &remaining, &bytes))
        return;
    if (!job->is_present) {
        keep_back(turns, job, must_stay_behind(turns, job));
        if (job->is_kept_back)
            return;
        learn_period(job, turns->now);
        job->is_present = true;
        job->was_authorised = false;
        job->went_seconds = 0;
        job->since = turns->now;
        job->present.sequence = ++turns->sequence;
        job->present.arrived_seconds = turns->now;
        job->present.asked_seconds = asked;
        job->present.served_seconds = 0;
        job->present.is_going = false;
        turns->present[turns->present_used++] = &job->present;
    }
    job->present.period_seconds = job->told_period > 0 ? round6(job->told_period) : job->learned_period;
    job->present.remaining_seconds = remaining;
    job->present.asked_seconds = most(job->present.asked_seconds, remaining);
    log_inform(turns, job, bytes, asked);
    decide(turns);
}

static struct job **place_of(struct turns *turns, uint64_t number, uint32_t user)
{
    const unsigned places = sizeof turns->by_number / sizeof *turns->by_number;
    unsigned place = (unsigned)(number % places);
    while (turns->by_number[place] != NULL && (turns->by_number[place]->number != number || turns->by_number[place]->user != user))
        place = (place + 1) % places;
    return &turns->by_number[place];
}

/* Makes room by forgetting the jobs that nobody belongs to any more. */
static void forget_gone(struct turns *turns)
{
    struct job *kept[TURNS_JOBS_MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof turns->by_number / sizeof *turns->by_number; i++) {
        struct job *job = turns->by_number[i];
        turns->by_number[i] = NULL;
        if (job != NULL && job->members == NULL)
            free(job);
        else if (job != NULL)
            kept[count++] = job;
    }
    turns->jobs_used = count;
    for (unsigned i = 0; i < count; i++)
        *place_of(turns, kept[i]->number, kept[i]->user) = kept[i];
}

void turns_end(struct turns *turns)
{
    forget_gone(turns);
}

bool turns_join(struct turns *turns, struct member *member, uint64_t number, uint32_t user)
{
    if (turns->jobs_used == TURNS_JOBS_MOST)
        forget_gone(turns);
    struct job **place = place_of(turns, number, user);
    if (*place == NULL) {
        if (turns->jobs_used == TURNS_JOBS_MOST || (*place = calloc(1, sizeof **place)) == NULL)
            return false;
        **place = (struct job){ .number = number, .user = user, .id = ++turns->ids, .trust = 1 };
        turns->jobs_used++;
    }
    *member = (struct member){ .job = *place, .next = (*place)->members };
    (*place)->members = member;
    return true;
}

/* A member's part in the phase is over. */
static void retire(struct turns *turns, struct member *member, const char *event)
{
    struct job *job = member->job;
    bool is_last = true;
    if (!member->is_present)
        return;
    member->is_present = member->is_in_step = false;
    for (const struct member *other = job->members; other != NULL; other = other->next)
        is_last = is_last && !other->is_present;
    if (!is_last) {
        renew(turns, job);
        return;
    }
    if (!job->is_present) {
        keep_back(turns, job, false);
        return;
    }
    end_phase(turns, job, 0, false);
    if (strcmp(event, "release") == 0 && turns->log != NULL)
        fprintf(turns->log, "{\"time_seconds\":%.6f,\"event\":\"release\",\"job\":%llu,\"remaining\":0.000000}\n", turns->now,
                (unsigned long long)job->id);
    else
        log_event(turns, event, job, NULL);
    decide(turns);
}

void turns_leave(struct turns *turns, struct member *member, uint64_t now_ns)
{
    if (member->job == NULL)
        return;
    advance(turns, now_ns);
    retire(turns, member, "leave");
    struct member **at = &member->job->members;
    while (*at != NULL && *at != member)
        at = &(*at)->next;
    *at = member->next;
    member->job = NULL;
}

static double within(double value, double lowest, double highest)
{
    return value >= lowest && value <= highest ? value : value > highest ? highest : lowest; /* what is no number is the lowest */
}

void turns_inform(struct turns *turns, struct member *member, const struct claim *claim, int policy, uint64_t now_ns)
{
    double demand = claim->demand > 0 ? within(claim->demand, LEAST_SECONDS, 1) : 1;
    double left = claim->bytes > 0 ? within((double)claim->remaining_bytes / (double)claim->bytes, 0, 1) : 1;
    double asked = claim->seconds > 0 ? within(claim->seconds, LEAST_SECONDS, 1e9)
                                      : within((double)claim->bytes / (turns->capacity * demand), LEAST_SECONDS, 1e9);
    advance(turns, now_ns);
    if (turns->present_used == 0 && !turns->is_rule_fixed && policy >= 0 && policy < POLICIES && (int)turns->rule.policy != policy) {
        turns->rule.policy = (enum policy)policy;
        log_start(turns);
    }
    member->is_present = member->is_in_step = true;
    member->asked_seconds = asked;
    member->remaining_seconds = asked * left;
    member->demand = demand;
    member->period_seconds = within(claim->period_seconds, 0, 1e9);
    member->targets = claim->targets;
    member->bytes = claim->bytes;
    member->processes = claim->processes > 0 ? claim->processes : 1;
    bool was_going = turns_may_go(member->job);
    renew(turns, member->job);
    if (was_going && turns_may_go(member->job)) /* the job was told, this member perhaps not */
        turns->tell(member->job, true);
}

void turns_release(struct turns *turns, struct member *member, uint64_t remaining_bytes, uint64_t now_ns)
{
    if (!member->is_present) /* it was put out meanwhile */
        return;
    advance(turns, now_ns);
    if (remaining_bytes == 0) {
        retire(turns, member, "release");
        return;
    }
    double asked, remaining;
    uint64_t bytes;
    member->remaining_seconds =
        member->bytes > 0 ? member->asked_seconds * within((double)remaining_bytes / (double)member->bytes, 0, 1) : member->asked_seconds;
    member->is_in_step = false;
    if (!member->job->is_present)
        return;
    add_up(turns, member->job, &asked, &remaining, &bytes);
    member->job->present.remaining_seconds = remaining;
    member->job->present.asked_seconds = most(member->job->present.asked_seconds, remaining);
    if (turns_may_go(member->job)) {
        member->job->went_seconds += turns->now - member->job->since;
        member->job->since = turns->now;
    }
    log_inform(turns, member->job, bytes, asked);
    decide(turns);
}

static void put_out(struct turns *turns, struct job *job, const char *why)
{
    bool is_cut = strcmp(why, "served") == 0;
    end_phase(turns, job, is_cut ? 0 : turns->idle_seconds, is_cut);
    job->behind = is_cut ? turns->sequence : 0;
    job->until = turns->now + turns->most_seconds;
    log_event(turns, "deadline", job, why);
    turns->put_out(job);
    decide(turns);
}

static bool is_in_step(const struct job *job)
{
    for (const struct member *member = job->members; member != NULL; member = member->next)
        if (member->is_in_step)
            return true;
    return false;
}

/* In how many seconds a job is to be put out; `why` then says why. */
static double seconds_left(const struct turns *turns, const struct job *job, double now, bool others_wait, const char **why)
{
    double going = now - job->since, served = NEVER, silent = NEVER;
    if (!job->present.is_going)
        return NEVER;
    if (others_wait)
        served = turns->most_seconds - (job->went_seconds + going);
    if (!is_in_step(job))
        silent = turns->idle_seconds - going;
    *why = silent < served ? "silent" : "served";
    return least(silent, served);
}

/* When a job that waits may go because it has waited long enough; NEVER: by no clock. */
static double turn_by_delay(const struct turns *turns, const struct job *job)
{
    const bool has_delay = turns->rule.policy == POLICY_delay || turns->rule.policy == POLICY_dynamic;
    double turn = job->present.arrived_seconds + turns->rule.delay_seconds;
    return has_delay && turns->rule.delay_seconds > 0 && turn > turns->now + SAME_TIME ? turn : NEVER;
}

/* Lets one come that need not stay behind any more. Returns in how many seconds there will be one; 0: there was one. */
static double let_come(struct turns *turns, double now, uint64_t now_ns)
{
    double next = NEVER;
    for (unsigned i = 0; turns->kept_back > 0 && i < sizeof turns->by_number / sizeof *turns->by_number; i++) {
        struct job *job = turns->by_number[i];
        if (job == NULL || !job->is_kept_back)
            continue;
        if (now >= job->until - SAME_TIME || !must_stay_behind(turns, job)) {
            advance(turns, now_ns);
            renew(turns, job);
            return 0;
        }
        next = least(next, job->until - now);
    }
    return next;
}

/* `turns->now` stays at the last event where none is due, so that the log tells all that remains was computed from. */
double turns_tick(struct turns *turns, uint64_t now_ns)
{
    double now = seconds_at(turns, now_ns), next = let_come(turns, now, now_ns);
    uint64_t waited_for[POLICY_SETS] = { 0 }; /* targets, of each set */
    if (next <= 0)
        return 0;
    for (unsigned i = 0; i < turns->present_used; i++)
        waited_for[policy_set(&turns->rule, turns->present[i])] |= turns->present[i]->is_going ? 0 : turns->present[i]->targets;
    for (unsigned i = 0; i < turns->present_used; i++) {
        struct job *job = job_of(turns->present[i]);
        const char *why = "";
        bool others_wait = (waited_for[policy_set(&turns->rule, &job->present)] & job->present.targets) != 0;
        double left = seconds_left(turns, job, now, others_wait, &why), turn = turn_by_delay(turns, job);
        if (left <= 0) {
            advance(turns, now_ns);
            put_out(turns, job, why);
            return 0; /* somebody's turn may have come by it, and its time with it */
        }
        if (turn <= now + SAME_TIME) {
            advance(turns, now_ns);
            log_event(turns, "timer", NULL, NULL);
            decide(turns);
            return 0;
        }
        next = least(next, least(left, turn - now));
    }
    return next < NEVER / 2 ? next : -1;
}
