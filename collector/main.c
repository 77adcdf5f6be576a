/* slicewise-collect: what runs beside the applications. */
#include "bpf.h"
#include "clock.h"
#include "coordinator.h"
#include "launched.h"
#include "left.h"
#include "live.h"
#include "node.h"
#include "others_link.h"
#include "print_line.h"
#include "recover.h"
#include "servers.h"
#include "snapshot.h"
#include "stacks.h"
#include "user.h"

#include "format.h"
#include "identity.h"
#include "settings.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int usage(FILE *out)
{
    fprintf(out, "usage: slicewise-collect recover [--user USER | --all-users [--since TIME]] [--job JOB] [--into DIR] [--wait SECONDS]\n"
                 "                                 [JOBDIR]\n"
                 "       slicewise-collect left [--all-users]\n"
                 "       slicewise-collect node [--job JOB] [--parent PID] [--detach] [--json] [--samples] [--user USER]\n"
                 "                              [--others named|hidden] [--bpf] [--attach]\n"
                 "       slicewise-collect stop [--job JOB] [--user USER]\n"
                 "       slicewise-collect servers [--detach] [--root DIR] [--source SOURCE]\n"
                 "       slicewise-collect live [--every SECONDS] [--all-users]\n"
                 "       slicewise-collect snapshot --into DIR PROFILES\n"
                 "       slicewise-collect coordinate --listen ADDRESS ...\n"
                 "       slicewise-collect look COMMAND\n"
                 "       slicewise-collect launching COMMAND\n"
                 "       slicewise-collect launched PID OWN_BYTES READ_BYTES WRITE_BYTES READS WRITES START_NS END_NS COMMAND [ARGUMENT]...\n"
                 "       slicewise-collect stacks [--job JOB] [--seconds SECONDS] PID...\n"
                 "       slicewise-collect --version\n"
                 "recover: finishes the segments of processes that are gone, so that their profiles are whole;\n"
                 "         with JOBDIR only those whose profile lies there, with JOB only that job's; with DIR into that directory\n"
                 "         of profiles, for processes whose own is gone; with TIME (in seconds, as date +%%s has it) for those users alone of whom\n"
                 "         processes began or ended since, and for the caller; with SECONDS it waits so long for processes that still run\n"
                 "left:    prints how many processes could not write their profile, and how many others have none, as far as the node knows\n"
                 "node:    drains the segments of a job's processes on this node while they run, and samples the node's own\n"
                 "         counters, until process PID is gone or SIGTERM comes; with --samples the job has these also\n"
                 "         from a node where none of its processes runs, as its file server; with --others, for root, also what everybody\n"
                 "         else on the node moves without a profile: by user, or of all together but the job's own user;\n"
                 "         with --bpf, for root, also what the job and all others read and write on each file system, as the kernel counts it\n"
                 "         by a program of ours; with --attach process PID and its descendants are the job's, from now on\n"
                 "stop:    ends it, and waits until it has; with --job servers: the one of `servers`\n"
                 "servers: samples what this file server serves by job (Lustre's job_stats) or client (by the connections of NFS, samba,\n"
                 "         GlusterFS, Ceph, BeeGFS, OrangeFS), slice by slice, until SIGTERM comes; with DIR below that directory instead of /,\n"
                 "         as a container sees its host; with SOURCE as what clients mount of the last four: server1:/volume\n"
                 "live:    prints what processes have counted so far as a line of JSON, once or again and again\n"
                 "snapshot: writes what living processes have counted so far to DIR/JOB, behind what is there, and prints how many they\n"
                 "         were: those whose profiles are to lie in PROFILES or below; they take no notice\n"
                 "coordinate: tells jobs that share a file system when to do their I/O; coordinate --help says more\n"
                 "look:    prints why COMMAND cannot be profiled (`unknown`: it can, as far as can be told), and its executable\n"
                 "launching: the same as look, before slicewise run begins COMMAND\n"
                 "launched: adds what the kernel counted of a command to the job's profile, and prints the same as look\n"
                 "stacks:  prints where the threads of processes are now as lines of JSON; of a JOB's processes only; each process within SECONDS\n"
                 "Root may act for another user, with that user's rights.\n");
    return out == stdout ? 0 : 2;
}

struct options {
    struct node_options node;
    const char *user, *into, *operand, *others, *root, *source;
    double every_seconds, since;
    uint64_t until_ns; /* CLOCK_MONOTONIC: for all users the same */
    bool is_for_all, wants_bpf;
};

/* A number without anything behind it. */
static bool read_number(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number > 0 && *number < 1e12;
}

/* Takes the options in `allowed` and at most one operand. Returns false if there is anything else. */
static bool read_options(struct options *options, const char *allowed, int argc, char **argv)
{
    static const struct option names[] = {
        { "user", required_argument, NULL, 'u' },
        { "all-users", no_argument, NULL, 'a' },
        { "job", required_argument, NULL, 'j' },
        { "parent", required_argument, NULL, 'p' },
        { "detach", no_argument, NULL, 'd' },
        { "json", no_argument, NULL, 's' },
        { "every", required_argument, NULL, 'e' },
        { "samples", no_argument, NULL, 'o' },
        { "into", required_argument, NULL, 'i' },
        { "others", required_argument, NULL, 't' },
        { "bpf", no_argument, NULL, 'b' },
        { "since", required_argument, NULL, 'c' },
        { "root", required_argument, NULL, 'r' },
        { "source", required_argument, NULL, 'f' },
        { "attach", no_argument, NULL, 'h' },
        { "wait", required_argument, NULL, 'w' },
        { 0 },
    };
    double number;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (option == '?' || strchr(allowed, option) == NULL)
            return false;
        options->user = option == 'u' ? optarg : options->user;
        options->others = option == 't' ? optarg : options->others;
        options->root = option == 'r' ? optarg : options->root;
        options->source = option == 'f' ? optarg : options->source;
        options->into = option == 'i' ? optarg : options->into;
        options->is_for_all |= option == 'a';
        options->wants_bpf |= option == 'b';
        options->node.job = option == 'j' ? optarg : options->node.job;
        options->node.is_detached |= option == 'd';
        options->node.is_json |= option == 's';
        options->node.is_for_samples |= option == 'o';
        options->node.is_attached |= option == 'h';
        if (strchr("pecw", option) == NULL)
            continue;
        if (!read_number(optarg, &number) || (option == 'p' && number > 1e9))
            return false;
        options->node.parent = option == 'p' ? (int)number : options->node.parent;
        options->every_seconds = option == 'e' ? number : options->every_seconds;
        options->since = option == 'c' ? number : options->since;
        options->until_ns = option == 'w' ? clock_read(CLOCK_MONOTONIC) + (uint64_t)((number < 1e9 ? number : 1e9) * 1e9) : options->until_ns;
    }
    if (optind < argc)
        options->operand = argv[optind++];
    return optind == argc && (options->operand == NULL || strchr(allowed, '*') != NULL);
}

static int recover_for_one(void *argument)
{
    const struct options *options = argument;
    return recover(options->operand, options->node.job, options->into, options->until_ns);
}

/* Before anybody's rights are taken on: that process keeps root's. Returns 0, or the exit status. */
static int begin_others(struct options *options)
{
    uid_t user = geteuid();
    bool is_named = strcmp(options->others, "named") == 0;
    if (!is_named && strcmp(options->others, "hidden") != 0) {
        print_line(stderr, "slicewise: --others %s: say whether users are told by number, or all together: named or hidden\n", options->others);
        return 2;
    }
    if (user != 0) {
        print_line(stderr,
                   "slicewise: --others: only root may see what other users' processes move; run this as root, with --user for the job's user\n");
        return 2;
    }
    int wrong = options->user != NULL ? user_find(options->user, &user) : 0;
    int fd = wrong == 0 ? others_link_begin(user, is_named) : 0;
    if (fd < 0)
        print_line(stderr, "slicewise: --others: no process can be started (%s)\n", strerror(-fd));
    options->node.others_fd = fd;
    return wrong != 0 ? wrong : fd < 0;
}

/* Before anybody's rights are taken on. Without it, sampling goes on. */
static void begin_bpf(struct options *options)
{
    struct settings settings;
    struct cgroup job;
    const char *why;
    settings_read(&settings, NULL);
    cgroup_find(&job, "", settings.cgroup, identity_scheduler_job());
    int map = bpf_begin(&job, options->others != NULL && strcmp(options->others, "named") == 0, &why);
    options->node.moved_fd = map > 0 ? map : 0;
    if (map <= 0)
        print_line(stderr, "slicewise: --bpf: %s (%s): reads and writes are not counted by file system; sampling goes on\n", why, strerror(-map));
}

int main(int argc, char **argv)
{
    struct options options = { 0 };
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("slicewise-collect %s\n", SLICEWISE_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout);
    if (argc == 3 && strcmp(argv[1], "look") == 0) {
        launched_look(argv[2]);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "launching") == 0) {
        launched_begin(argv[2]);
        return 0;
    }
    if (argc >= 11 && strcmp(argv[1], "launched") == 0) {
        int status = launched(argc - 2, argv + 2);
        return status == 2 ? usage(stderr) : status;
    }
    if (argc >= 2 && strcmp(argv[1], "coordinate") == 0)
        return coordinator(argc - 1, argv + 1);
    if (argc >= 2 && strcmp(argv[1], "stacks") == 0) {
        int status = stacks(argc - 1, argv + 1);
        return status == 2 ? usage(stderr) : status;
    }
    const struct {
        const char *name, *allowed;
    } commands[] = { { "recover", "uajicw*" }, { "node", "ujpdsotbh" }, { "stop", "uj" },    { "live", "ea" },
                     { "snapshot", "i*" },     { "left", "a" },         { "servers", "drf" } };
    enum { RECOVER, NODE, STOP, LIVE, SNAPSHOT, LEFT, SERVERS, COMMANDS };
    int command = 0;
    while (command < COMMANDS && (argc < 2 || strcmp(argv[1], commands[command].name) != 0))
        command++;
    if (command == COMMANDS || !read_options(&options, commands[command].allowed, argc - 1, argv + 1))
        return usage(stderr);
    if (command == SNAPSHOT && (options.into == NULL || options.operand == NULL))
        return usage(stderr);
    int wrong = options.others != NULL ? begin_others(&options) : 0;
    if (wrong == 0 && options.wants_bpf)
        begin_bpf(&options);
    if (wrong == 0 && options.user != NULL)
        wrong = user_become(options.user);
    if (wrong != 0)
        return wrong;
    switch (command) {
    case RECOVER: return options.is_for_all ? recover_all_users((time_t)options.since, recover_for_one, &options) : recover_for_one(&options);
    case NODE: return node_run(&options.node);
    case STOP: return node_stop(options.node.job);
    case LEFT: return left(options.is_for_all);
    case SERVERS: return servers_run(&(struct servers_options){ options.root, options.source, options.node.is_detached });
    case SNAPSHOT: return snapshot(options.operand, options.into);
    default: return live(options.every_seconds, options.is_for_all);
    }
}
