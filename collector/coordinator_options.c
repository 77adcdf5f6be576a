/* What `slicewise-collect coordinate` is told. */
#include "coordinator.h"

#include "print_line.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_MOST = 4096 };
#define STANDARD_CAPACITY 1e9
#define STANDARD_MOST_SECONDS 300
#define STANDARD_IDLE_SECONDS 1

static int usage(FILE *out)
{
    fprintf(
        out,
        "usage: slicewise-collect coordinate --listen unix:/PATH|tcp:ADDRESS:PORT [--secret-file FILE] [--policy POLICY] [--metric METRIC]\n"
        "                                    [--delay S] [--capacity BYTES] [--most-seconds S] [--most-processes N] [--idle-seconds S] [--log FILE]\n"
        "Tells jobs that share a file system when to do their I/O, until SIGTERM comes. One coordinator serves one file system.\n"
        "--listen:         where jobs come to; theirs is SLICEWISE_COORDINATE_AT. unix: serves the jobs of this node, tcp: those of several\n"
        "                  tcp: cannot be forged, but is not encrypted: beyond a network that you trust, use a tunnel (ssh -L, stunnel, WireGuard)\n"
        "--secret-file:    a file whose text all jobs know (SLICEWISE_COORDINATE_SECRET); needed with tcp:\n"
        "--policy:         interfere, fcfs, interrupt, delay, dynamic or set10; without it a job chooses when no other is in an I/O phase\n"
        "--metric:         what dynamic makes small: cpu_seconds (unless told otherwise), sum_interference, makespan or worst_slowdown\n"
        "--delay:          seconds that a job waits for earlier ones under the policy delay\n"
        "--capacity:       bytes a second of the file system, by which bytes become seconds (1e9)\n"
        "--most-seconds:   a job that was served for so long while others waited must queue anew (300)\n"
        "--most-processes: a job is not believed to have more of them (1000000)\n"
        "--idle-seconds:   a job that does no I/O for so long has ended its phase (1)\n"
        "--log:            decisions, a line of JSON each, for `slicewise turns replay`\n"
        "Example: slicewise-collect coordinate --listen unix:/run/slicewise/scratch --policy dynamic --log decisions.jsonl\n");
    return out == stdout ? 0 : 2;
}

/* Of bytes that anybody may read nothing is secret. Returns whether it was read. */
static bool read_secret(uint8_t secret[SHA256_BYTES], const char *path)
{
    char text[SECRET_MOST];
    struct stat status;
    FILE *file = fopen(path, "re");
    size_t size = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    bool is_open_to_all = file != NULL && fstat(fileno(file), &status) == 0 && (status.st_mode & S_IROTH) != 0;
    if (file == NULL)
        print_line(stderr, "slicewise-collect: %s: cannot be read (%s); give a file with the secret that jobs know\n", path, strerror(errno));
    else if (is_open_to_all)
        print_line(stderr, "slicewise-collect: %s: everybody may read this secret; chmod o-r it, and let a group read it\n", path);
    else if (size < 8)
        print_line(stderr, "slicewise-collect: %s: a secret needs 8 bytes at least; for example: head -c 32 /dev/urandom | base64\n", path);
    if (file != NULL)
        fclose(file);
    turn_secret(secret, text, size);
    return file != NULL && !is_open_to_all && size >= 8;
}

static bool read_number(const char *name, const char *text, double lowest, double highest, double *number)
{
    char *end;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && value >= lowest && value <= highest) {
        *number = value;
        return true;
    }
    print_line(stderr, "slicewise-collect: --%s %s: not a number from %g to %g\n", name, text, lowest, highest);
    return false;
}

static bool read_name(const char *option, const char *const *names, int count, const char *name, int *value)
{
    *value = policy_of_name(names, count, name);
    if (*value < 0)
        print_line(stderr, "slicewise-collect: --%s %s: is not known; see slicewise-collect coordinate --help\n", option, name);
    return *value >= 0;
}

/* As many connections as the system lets us have. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool set(struct coordinator_options *options, int option, const char **log, bool *has_secret)
{
    struct turns *turns = &options->turns;
    double number = turns->most_processes;
    int value = 0;
    bool is_good = true;
    switch (option) {
    case 'l': options->listen = optarg; break;
    case 's': is_good = *has_secret = read_secret(options->secret, optarg); break;
    case 'p':
        is_good = read_name("policy", policy_names, POLICIES, optarg, &value);
        turns->rule.policy = (enum policy)value;
        turns->is_rule_fixed = true;
        break;
    case 'm':
        is_good = read_name("metric", metric_names, METRICS, optarg, &value);
        turns->rule.metric = (enum metric)value;
        break;
    case 'd': is_good = read_number("delay", optarg, 0, 1e6, &turns->rule.delay_seconds); break;
    case 'c': is_good = read_number("capacity", optarg, 1, 1e18, &turns->capacity); break;
    case 't': is_good = read_number("most-seconds", optarg, 0.01, 1e6, &turns->most_seconds); break;
    case 'i': is_good = read_number("idle-seconds", optarg, 0.01, 1e6, &turns->idle_seconds); break;
    case 'n': is_good = read_number("most-processes", optarg, 1, 1e9, &number); break;
    case 'o': *log = optarg; break;
    default: return false;
    }
    turns->most_processes = (uint32_t)number;
    return is_good;
}

int coordinator(int argc, char **argv)
{
    static const struct option names[] = {
        { "listen", required_argument, NULL, 'l' },
        { "secret-file", required_argument, NULL, 's' },
        { "policy", required_argument, NULL, 'p' },
        { "metric", required_argument, NULL, 'm' },
        { "delay", required_argument, NULL, 'd' },
        { "capacity", required_argument, NULL, 'c' },
        { "most-seconds", required_argument, NULL, 't' },
        { "idle-seconds", required_argument, NULL, 'i' },
        { "log", required_argument, NULL, 'o' },
        { "most-processes", required_argument, NULL, 'n' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    static struct coordinator_options options;
    const char *log = NULL;
    bool has_secret = false;
    options.turns.rule.policy = POLICY_fcfs;
    options.turns.capacity = STANDARD_CAPACITY;
    options.turns.most_seconds = STANDARD_MOST_SECONDS;
    options.turns.idle_seconds = STANDARD_IDLE_SECONDS;
    options.turns.most_processes = 1000000;
    turn_secret(options.secret, "", 0);
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (option == 'h')
            return usage(stdout);
        if (option == '?')
            return usage(stderr);
        if (!set(&options, option, &log, &has_secret))
            return 2;
    }
    if (optind < argc || options.listen == NULL)
        return usage(stderr);
    if (!turn_read_address(&options.address, options.listen)) {
        print_line(stderr, "slicewise-collect: --listen %s: neither unix:/PATH nor tcp:ADDRESS:PORT with the address in digits\n", options.listen);
        return 2;
    }
    if (options.address.at.any.sa_family != AF_UNIX && !has_secret) {
        print_line(stderr, "slicewise-collect: --listen %s: anybody can come over a network; give --secret-file\n", options.listen);
        return 2;
    }
    if (log != NULL && (options.turns.log = fopen(log, "ae")) == NULL) {
        print_line(stderr, "slicewise-collect: --log %s: cannot be written (%s)\n", log, strerror(errno));
        return 2;
    }
    raise_limit();
    return coordinator_serve(&options);
}
