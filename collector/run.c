/* The life of a node's collector as a process: its one instance a job, its turns, its end. */
#include "node.h"

#include "background.h"
#include "bounded_io.h"
#include "clock.h"
#include "format.h"
#include "identity.h"
#include "left.h"
#include "print_line.h"
#include "raw.h"
#include "record.h"
#include "spool.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_ROUND_NS (4 * NS_PER_SECOND) /* between two visits, however long slices are */
#define CLOSE_LOOK_ROUNDS 16
#define SHORTEST_LOOK_NS (NS_PER_SECOND / 4)
#define LONGEST_LOOK_NS NS_PER_SECOND
#define WATCH_NS (NS_PER_SECOND / 4) /* between two looks at where threads wait */

/* How long it is from one look at processes that are sampled to the next. What such a process does between the last look and its end is lost. */
static uint64_t look_ns(uint64_t slice_ns)
{
    uint64_t ns = slice_ns / 4 < SHORTEST_LOOK_NS ? SHORTEST_LOOK_NS : slice_ns / 4;
    return ns < LONGEST_LOOK_NS ? ns : LONGEST_LOOK_NS;
}

static void take_turns(struct node *node, const struct settings *settings, const char *job, int parent_fd)
{
    uint64_t round_ns = settings->slice_ns < LONGEST_ROUND_NS ? settings->slice_ns : LONGEST_ROUND_NS, round = 0, visited_until_ns = 0, wake_ns;
    uint64_t looked_until_ns = 0;
    do {
        uint64_t now = clock_read(CLOCK_REALTIME);
        bool is_turn = now / settings->slice_ns != node->sampled_until_ns / settings->slice_ns;
        bool is_round = is_turn || now >= visited_until_ns || visited_until_ns > now + round_ns; /* the clock may have been set back */
        bool is_look = is_round || (node_is_busy(node) && (now >= looked_until_ns || looked_until_ns > now + round_ns));
        node_watch(node);
        if (is_turn)
            node_sample(node, now);
        if (is_look)
            node_look(node);
        if (is_round) {
            node_look_at_others(node);
            node_visit(node, settings->segment_dir, job, round_ns, round++ % CLOSE_LOOK_ROUNDS == CLOSE_LOOK_ROUNDS - 1);
            node_sample_processes(node);
        }
        now = clock_read(CLOCK_REALTIME);
        uint64_t turn = background_next_multiple(now, settings->slice_ns);
        visited_until_ns = is_round ? background_next_multiple(now, round_ns) : visited_until_ns;
        wake_ns = turn < visited_until_ns ? turn : visited_until_ns;
        looked_until_ns = is_look ? now + look_ns(settings->slice_ns) : looked_until_ns;
        if (node_is_busy(node) && looked_until_ns < wake_ns)
            wake_ns = looked_until_ns;
        if (node_can_watch(node) && now + WATCH_NS < wake_ns)
            wake_ns = now + WATCH_NS;
    } while (background_sleep_until(wake_ns, parent_fd));
    node_look(node);
    node_look_at_others(node);
    /* First nobody counts on us any more, then whoever ended meanwhile is finished. */
    node_visit(node, settings->segment_dir, job, 0, false);
    node_visit(node, settings->segment_dir, job, 0, true);
}

static void say_end(const struct node *node, const struct node_options *options, uint64_t began_ns)
{
    uint64_t cost_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID), ran_ns = clock_read(CLOCK_MONOTONIC) - began_ns;
    double share = ran_ns > 0 ? 100.0 * (double)cost_ns / (double)ran_ns : 0;
    if (options->is_json) {
        printf("{\"samples\": %lu, \"seconds\": %.3f, \"cost_seconds\": %.6f, \"cost_percent_of_a_core\": %.4f, \"most_bytes\": %lu, "
               "\"profile_bytes\": %lu, "
               "\"drained_bytes\": %lu, \"finished\": %u, \"most_processes\": %u, \"sampled\": ",
               node->samples, (double)ran_ns / 1e9, (double)cost_ns / 1e9, share, node_most_bytes(), own_io.spool_bytes, node->visits.drained_bytes,
               node->visits.finished, node->most_alive);
        sampled_print(node->sampled);
        printf("}\n");
    } else
        print_line(stdout,
                   "slicewise: %lu samples in %.1f s; cost %.3f %% of one core and %.1f MiB; "
                   "wrote %lu bytes to the profile, for up to %u processes at once\n",
                   node->samples, (double)ran_ns / 1e9, share, (double)node_most_bytes() / (1 << 20), own_io.spool_bytes, node->most_alive);
    fflush(stdout);
}

enum { OWN_NAME_BYTES = JOB_NAME_BYTES + 16 };

/* As the lock's name has it: the job with the directory that its profile lies in. */
static void name_own(char name[OWN_NAME_BYTES], const char *job)
{
    const char *dir = identity_spool_dir();
    snprintf(name, OWN_NAME_BYTES, "%s.%08x", job, format_crc32(dir, strlen(dir)));
}

/* Whom the kernel names as a lock's holder: no file's word is taken for it. 0: nobody. */
static int holder_of(const struct settings *settings, const char *name)
{
    char path[SEGMENT_DIR_PATH_BYTES];
    struct flock held = background_whole_file;
    int fd = background_open_lock(settings, name, false, path);
    bool is_held = fd >= 0 && fcntl(fd, F_GETLK, &held) == 0 && held.l_type != F_UNLCK;
    if (fd >= 0)
        raw_close(fd);
    return is_held ? held.l_pid : 0;
}

/* A collector that runs beside a command serves the jobs of its name whose profile lies where its own does: another command may have the name, and
 * another directory. One that a node's prologue began serves all of the name. Returns false if the job has its collector. */
static bool take_locks(bool is_wide, const struct settings *settings, const char *job, char wide[SEGMENT_DIR_PATH_BYTES],
                       char own[SEGMENT_DIR_PATH_BYTES])
{
    char name[OWN_NAME_BYTES];
    name_own(name, job);
    if (is_wide) {
        if (!background_take_lock(settings, job, wide))
            return false;
        if (background_take_lock(settings, name, own))
            return true;
        raw_unlink(wide);
        return false;
    }
    return holder_of(settings, job) == 0 && background_take_lock(settings, name, own);
}

static int run_attached(const struct node_options *options, const struct settings *settings, const char *job, int ready)
{
    static struct node node;
    char spool[1100];
    uint64_t began_ns = clock_read(CLOCK_MONOTONIC);
    char wide_path[SEGMENT_DIR_PATH_BYTES], lock_path[SEGMENT_DIR_PATH_BYTES];
    identity_note(settings, job);
    bool is_wide = options->parent == 0 || options->is_attached;
    if (!take_locks(is_wide, settings, job, wide_path, lock_path)) {
        print_line(stdout, "slicewise: job %s has its collector on this node already\n", job);
        return 0;
    }
    background_take_signals();
    int parent_fd = options->parent != 0 ? (int)syscall(SYS_pidfd_open, options->parent, 0) : -1;
    if (options->parent != 0 && parent_fd < 0) {
        print_line(stderr, "slicewise: process %d: cannot be watched (%s); give the id of a living process to --parent\n", options->parent,
                   strerror(errno));
        return 2;
    }
    bounded_io_begin(settings->exit_ns);
    int begun = node_begin(&node, "", settings, job, options->is_attached ? 0 : (uint32_t)options->parent, options->moved_fd);
    if (begun < 0) {
        print_line(stderr, "slicewise: no memory for the collector (%s)\n", strerror(-begun));
        return 1;
    }
    left_remove_old(settings->segment_dir);
    node.is_for_samples = options->is_for_samples;
    node.visits.only_spool_dir = is_wide ? NULL : identity_spool_dir();
    if (options->is_attached && node.sampled != NULL)
        node.sampled->belonging.attached = (uint32_t)options->parent;
    node.others.fd = options->others_fd;
    if (ready >= 0)
        background_let_go(ready);
    take_turns(&node, settings, job, parent_fd);
    int ended = node_end(&node);
    spool_path(spool, sizeof spool, node.home.segment);
    if (ended < 0 || node.visits.failed > 0)
        print_line(stderr, "slicewise: %s: cannot write the profile (%s); its counts are kept in %s: mend that, then run `slicewise recover`\n",
                   spool, spool_words(ended < 0 ? ended : node.visits.error), settings->segment_dir);
    say_end(&node, options, began_ns);
    raw_unlink(lock_path);
    if (is_wide)
        raw_unlink(wide_path);
    return ended < 0 || node.visits.failed > 0;
}

static bool settle(struct settings *settings, const char *given, char *job, size_t room)
{
    settings_read(settings, background_complain);
    if (given != NULL)
        settings->job = given;
    if (!identity_job(job, room, settings))
        return true;
    print_line(stderr, "slicewise: no job is named: give --job NAME, or set SLICEWISE_JOB\n");
    return false;
}

int node_run(const struct node_options *options)
{
    struct settings settings;
    char job[JOB_NAME_BYTES];
    int status, ready = -1;
    if (!settle(&settings, options->job, job, sizeof job))
        return 2;
    if (options->is_detached) {
        ready = background_detach(&status);
        if (status >= 0)
            return status;
    }
    return run_attached(options, &settings, job, ready);
}

static void wait_for_lock(const struct settings *settings, const char *name)
{
    char path[SEGMENT_DIR_PATH_BYTES];
    struct flock held = background_whole_file;
    int fd = background_open_lock(settings, name, false, path);
    while (fd >= 0 && fcntl(fd, F_SETLKW, &held) != 0 && errno == EINTR)
        continue;
    if (fd >= 0)
        raw_close(fd);
}

int node_stop(const char *given)
{
    struct settings settings;
    char job[JOB_NAME_BYTES];
    if (!settle(&settings, given, job, sizeof job))
        return 2;
    char own[OWN_NAME_BYTES];
    identity_note(&settings, job);
    name_own(own, job);
    const char *names[] = { job, own };
    for (unsigned i = 0; i < 2; i++) {
        int holder = holder_of(&settings, names[i]);
        if (holder <= 0)
            continue;
        if (kill(holder, SIGTERM) != 0) {
            print_line(stderr, "slicewise: process %d: cannot be ended (%s)\n", holder, strerror(errno));
            return 1;
        }
        wait_for_lock(&settings, names[i]);
    }
    return 0;
}
