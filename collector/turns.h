/* The jobs of one storage that are known, and those of them that are in an I/O phase: what happens to them, who may go after it, and the log of
 * both, which `slicewise turns replay` decides once more. Knows nothing of sockets: whoever calls it is told of decisions by `tell`. A job is
 * made of members, one a connection (a process of it); it is in a phase as long as any of them is. Times are seconds since the start, and every
 * figure is rounded to what the log has of it before it is used. For one thread. */
#ifndef SLICEWISE_TURNS_H
#define SLICEWISE_TURNS_H

#include "policy.h"

#include <stdint.h>
#include <stdio.h>

enum { TURNS_JOBS_MOST = 4096 };

struct job;

struct member {
    struct job *job;
    struct member *next;
    bool is_present;         /* in an I/O phase */
    bool is_in_step;         /* and not between two steps of it */
    double asked_seconds, remaining_seconds, demand;
    double period_seconds;
    uint64_t bytes, targets;
    uint32_t processes;
};

/* What a member says of its phase. */
struct claim {
    uint64_t bytes, remaining_bytes;
    double seconds, demand; /* 0: not known */
    uint32_t processes;
    double period_seconds; /* from its beginning to that of the next one; 0: not known */
    uint64_t targets; /* that it uses, a bit each; 0: not known */
};

struct turns {
    struct rule rule;
    bool is_rule_fixed;        /* else the first job of a time in which none is in a phase chooses it */
    double capacity;           /* bytes a second of the storage */
    double most_seconds;       /* for which a job may go while others wait; then it must queue anew */
    double idle_seconds;       /* between two steps; after that the phase is taken for over */
    uint32_t most_processes;   /* that a job is believed to have */
    FILE *log;                 /* NULL: none */
    void (*tell)(struct job *job, bool may_go);
    void (*put_out)(struct job *job);
    /* The rest is its own. */
    double now; /* of the last event */
    uint64_t began_ns, sequence, ids;
    unsigned jobs_used, present_used, kept_back;
    struct job *by_number[2 * TURNS_JOBS_MOST];
    struct present *present[TURNS_JOBS_MOST];
    uint64_t decisions, events;
};

/* Writes the log's first line. */
void turns_start(struct turns *turns, uint64_t now_ns);

/* When all members have left. */
void turns_end(struct turns *turns);

/* A process joins a job, known by its number and user. Returns false if there are too many jobs. */
bool turns_join(struct turns *turns, struct member *member, uint64_t number, uint32_t user);

/* Its connection is gone. */
void turns_leave(struct turns *turns, struct member *member, uint64_t now_ns);

/* A phase begins, or a step of it. `policy`: what the job asks for, or -1. */
void turns_inform(struct turns *turns, struct member *member, const struct claim *claim, int policy, uint64_t now_ns);

/* A step is over, or (nothing remaining) the phase. */
void turns_release(struct turns *turns, struct member *member, uint64_t remaining_bytes, uint64_t now_ns);

/* Does what is due by now. Returns in how many seconds something will be; below 0: nothing. */
double turns_tick(struct turns *turns, uint64_t now_ns);

/* The members of a job, and whether it may go. */
struct member *turns_members(const struct job *job);
bool turns_may_go(const struct job *job);

#endif
