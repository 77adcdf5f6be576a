/* The node's collector: drains the segments of living processes, finishes those of dead ones, and samples the node's own counters, at each
 * slice's turn, until it is told to end or its parent is gone. One a user, job and node. */
#ifndef SLICEWISE_NODE_H
#define SLICEWISE_NODE_H

#include "others_link.h"
#include "sampled.h"
#include "settings.h"
#include "sources.h"
#include "visit.h"

/* What it keeps from turn to turn. Its samples lie in a segment of its own: if it is killed, whoever comes next writes them. */
struct node {
    struct segment_home home;
    struct reading reading;
    struct visits visits;
    struct profiled *profiled;
    struct sampled *sampled; /* NULL: a setting forbids it */
    struct others_link others;
    struct under_way_table under_way;
    uint64_t slice_ns;
    uint64_t sampled_until_ns, sampled_until_steady_ns; /* CLOCK_REALTIME says which slice it was, CLOCK_MONOTONIC how long */
    uint64_t samples, samples_late;
    uint64_t frame_due_ns; /* CLOCK_MONOTONIC: when the samples that are kept are to be written */
    unsigned devices_packed, devices_named;
    struct {
        uint64_t name, source;
    } names[DEVICES_MAX]; /* in the segment's text */
    unsigned most_alive;
    bool has_said_refusal; /* that the kernel does not tell of connections */
    bool has_said_processes; /* nor of some processes */
    bool is_for_samples; /* which are written where no process of the job has been, too */
};

/* Returns 0 or -errno. `root` as in struct reading; `segment_dir`, `dir` and `job` as in the settings; `launcher`: the process that began the
 * job, or 0; `moved`: of bpf_begin, or 0. */
int node_begin(struct node *node, const char *root, const struct settings *settings, const char *job, uint32_t launcher, int moved);

/* A slice's turn, or the end: what came since the last one becomes a sample of the slice in which that was. */
void node_sample(struct node *node, uint64_t now_ns);

/* Looks at the job's processes that no library profiles. */
void node_look(struct node *node);

/* Whether there is anybody whose waiting can be looked at, and a look at it. */
bool node_can_watch(const struct node *node);
void node_watch(struct node *node);

/* Has everybody else on the node looked at, where root asked for it. */
void node_look_at_others(struct node *node);

/* After looks and the visits that followed: what the processes did becomes a sample. */
void node_sample_processes(struct node *node);

/* Whether looking again before the slice's turn is worth it. */
bool node_is_busy(const struct node *node);

/* Writes all samples, if there is a profile that they belong to. Returns 0 or why the profile cannot be written. */
int node_drain(struct node *node);

/* Comes by at all segments of the job; `next_ns` is the time until the next round, 0: there is none. */
void node_visit(struct node *node, const char *segment_dir, const char *job, uint64_t next_ns, bool looks_closely);

/* The most memory that this process had. */
uint64_t node_most_bytes(void);

/* Samples and drains a last time. Returns as node_drain. */
int node_end(struct node *node);

struct node_options {
    const char *job;
    int others_fd;   /* of others_link_begin; 0: nobody else on the node is looked at */
    int moved_fd;    /* of bpf_begin; 0: nothing is counted by file system */
    int parent;      /* ends when this process does; 0: with the signal alone */
    bool is_detached, is_json, is_for_samples;
    bool is_attached; /* the parent is the job's, and did not begin it */
};

/* Runs it. Returns the exit status. */
int node_run(const struct node_options *options);

/* Ends the node's collector of a job, and waits for it. Returns the exit status: 0 also if there is none. */
int node_stop(const char *job);

#endif
