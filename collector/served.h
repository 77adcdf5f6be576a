/* What a file server has served, by job (or client) and target, since it was last written: Lustre's targets below the trees of its parameters,
 * and an NFS server's connections. Bounded tables; what finds no room is counted. Called by the collector's one thread. */
#ifndef SLICEWISE_SERVED_H
#define SLICEWISE_SERVED_H

#include "connections.h"
#include "job_stats.h"

enum {
    SERVED_TARGETS_MAX = 256,
    SERVED_JOBS_MAX = 1 << 14,
    SERVED_ENTRIES_MAX = 1 << 16, /* of a job on a target */
    SERVED_STORAGES_MAX = 4,
    SERVED_CLIENTS_MAX = 4096, /* of a target that knows no job */
};

struct served_storage {
    char name[JOB_NAME_ROOM];
    const char *type;
};

struct served_target {
    char name[JOB_NAME_ROOM];
    char address[CONNECTION_NAME_BYTES]; /* of an NFS server: at which clients reach it */
    uint8_t storage;
    bool is_named; /* in the profile that is being written */
    uint32_t turn, first_turn; /* when it was last looked at, and first; 0: not yet */
    uint32_t jobs_turn;        /* when jobs were last known there */
    uint32_t whole_turn;       /* when they were last read to their end */
};

struct served_job {
    char name[JOB_NAME_ROOM];
    uint32_t number; /* no other job of this run ever has it */
    uint32_t entries;
    uint8_t is_client, is_named; /* the latter: a bit for each storage */
};

struct served_entry {
    uint32_t job, turn;
    uint16_t target;
    bool is_in_use, is_changed_exactly;
    uint64_t changed_ns, start_ns;
    uint64_t counts[SERVED_COUNTS], pending[SERVED_COUNTS];
};

struct served {
    const char *root; /* the directory that stands for the system's root: empty, but where a test or a container has another one */
    const char *source; /* what clients mount of the pool that this is a server of; empty: nobody said it */
    uint32_t turn, next_job;
    uint64_t looked_ns; /* CLOCK_REALTIME of the look before this one */
    uint64_t left_out, damaged;
    unsigned storages_used, targets_used, jobs_used, entries_used;
    struct served_storage storages[SERVED_STORAGES_MAX];
    struct served_target targets[SERVED_TARGETS_MAX];
    struct served_job jobs[SERVED_JOBS_MAX];
    struct served_entry entries[SERVED_ENTRIES_MAX];
    uint32_t of_job[2 * SERVED_JOBS_MAX], of_entry[2 * SERVED_ENTRIES_MAX]; /* by hash: place + 1 */
};

/* Looks at all targets once: what was served since the last look is pending then. `now_ns`: CLOCK_REALTIME. */
void served_look(struct served *served, uint64_t now_ns);

bool served_is_pending(const struct served_entry *entry);

/* Another profile begins: nobody has a name in it yet. */
void served_forget_names(struct served *served, unsigned storage);

#endif
