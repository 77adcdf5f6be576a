#include "identity.h"

#include "clock.h"
#include "command.h"
#include "raw.h"
#include "scratch.h"
#include "sha256.h"
#include "spool.h"
#include "text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

/* Of some variables the value of the first that is there and not empty. */
struct first {
    const char *const *variables; /* up to NULL */
    const char *value;            /* NULL: none is there */
    unsigned rank;                /* among the variables */
};

static const char *value_in(const char *entry, const char *variable)
{
    while (*variable != '\0' && *entry == *variable) {
        entry++;
        variable++;
    }
    return *variable == '\0' && entry[0] == '=' && entry[1] != '\0' ? entry + 1 : NULL;
}

static uint32_t initial(const char *name)
{
    return 1u << (name[0] & 31);
}

/* In one pass: an environment may have tens of thousands of entries, and getenv would look through all of them for each variable. */
static void find_first(struct first *firsts, unsigned count)
{
    uint32_t initials = 0;
    for (unsigned i = 0; i < count; i++)
        for (const char *const *variable = firsts[i].variables; *variable != NULL; variable++)
            initials |= initial(*variable);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
        for (unsigned i = 0; (initials & initial(*entry)) != 0 && i < count; i++)
            for (unsigned rank = 0; firsts[i].variables[rank] != NULL && (firsts[i].value == NULL || rank < firsts[i].rank); rank++) {
                const char *value = value_in(*entry, firsts[i].variables[rank]);
                if (value != NULL) {
                    firsts[i].value = value;
                    firsts[i].rank = rank;
                }
            }
}

static const char *first_of(const char *const *variables)
{
    struct first first = { .variables = variables };
    find_first(&first, 1);
    return first.value;
}

static void copy_as_file_name(char *name, size_t room, const char *text)
{
    static const char plain[] =
#define JOB_NAME(most_bytes, plain) plain
#include "contract.def"
        ;
    size_t i = 0;
    for (; i + 1 < room && text[i] != '\0'; i++) {
        char c = text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr(plain, c) != NULL;
        name[i] = is_plain && !(i == 0 && c == '.') ? c : '_';
    }
    name[i] = '\0';
}

static void program_path(char *path, size_t room)
{
    long length = raw_readlink("/proc/self/exe", path, room - 1);
    const char *given = length > 0 ? NULL : (const char *)getauxval(AT_EXECFN); /* in a jail without /proc */
    if (given != NULL)
        length = snprintf(path, room, "%s", given);
    path[length > 0 && (size_t)length < room ? length : 0] = '\0';
}

const char *identity_scheduler_job(void)
{
    static const char *const schedulers[] = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", NULL };
    return first_of(schedulers);
}

bool identity_job(char *name, size_t room, const struct settings *settings)
{
    const char *given = settings->job[0] != '\0' ? settings->job : identity_scheduler_job();
    if (given != NULL) {
        copy_as_file_name(name, room, given);
        return false;
    }
    static char path[PATH_MAX];
    char made[128];
    program_path(path, sizeof path);
    if (settings->names == NAMES_hash)
        memcpy(path, "job", sizeof "job");
    const char *slash = strrchr(path, '/');
    snprintf(made, sizeof made, "%.100s-%d", slash != NULL ? slash + 1 : path, raw_getpid());
    copy_as_file_name(name, room, made);
    return true;
}

bool identity_is_further_rank(void)
{
    static const char *const ranks[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", NULL };
    const char *rank = first_of(ranks);
    return rank != NULL && strcmp(rank, "0") != 0;
}

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static uint64_t unique_id(uint64_t start_ns, uint64_t pid, const char *host)
{
    uint64_t id = mixed(start_ns) ^ mixed(pid << 32 | raw_gettid());
    for (; *host != '\0'; host++)
        id = mixed(id ^ (unsigned char)*host);
    return id != 0 ? id : 1; /* 0 is the schema's */
}

/* What the environment and the working directory said at the process's beginning, for it may change both before it is asked. */
struct noted {
    char step[128], account[128], spool_dir[sizeof((struct segment *)0)->spool_dir];
    bool has_nodes;
    struct spool_anchor anchor;
};
static char noted_nodes[1024];

static void copy_value(char *copy, size_t room, const char *value)
{
    copy[0] = '\0';
    if (value != NULL)
        text_put(copy, copy + room, value);
}

/* The working directory; empty where it was deleted, or is out of reach. */
static const char *working_directory(char *here, size_t room)
{
    return syscall(SYS_getcwd, here, room) >= 0 && here[0] == '/' ? here : "";
}

static void note_spool_dir(struct noted *noted, const char *dir, const char *job)
{
    static char here[PATH_MAX];
    char *end = noted->spool_dir + sizeof noted->spool_dir, *at = noted->spool_dir;
    const char *above = dir[0] != '/' ? working_directory(here, sizeof here) : "";
    if (above[0] != '\0') /* else the text stays relative, which is no place */
        at = text_put(text_put(at, end, above), end, "/");
    if (text_put(text_put(text_put(at, end, dir), end, "/"), end, job) == end)
        noted->spool_dir[0] = '\0'; /* better no place than another one */
    spool_anchor_root(&noted->anchor);
}

static START_DATA struct noted noted_at_start;
static START_DATA bool is_noted;

static void note(struct noted *noted, const struct settings *settings, const char *job)
{
    static const char *const steps[] = { "SLURM_STEP_ID", "PBS_TASKNUM", "LS_JOBPID", NULL };
    static const char *const accounts[] = { "SLURM_JOB_ACCOUNT", "PBS_ACCOUNT", "LSB_PROJECT_NAME", NULL };
    static const char *const node_lists[] = { "SLURM_JOB_NODELIST", "LSB_HOSTS", NULL };
    struct first firsts[] = { { .variables = steps }, { .variables = accounts }, { .variables = node_lists } };
    find_first(firsts, sizeof firsts / sizeof *firsts);
    copy_value(noted->step, sizeof noted->step, firsts[0].value);
    copy_value(noted->account, sizeof noted->account, firsts[1].value);
    noted->has_nodes = firsts[2].value != NULL;
    if (noted->has_nodes)
        copy_value(noted_nodes, sizeof noted_nodes, firsts[2].value);
    note_spool_dir(noted, settings->dir, job);
}

void identity_note_arguments(int count, char *const *arguments)
{
    command_note(count, arguments);
}

void identity_note(const struct settings *settings, const char *job)
{
    note(&noted_at_start, settings, job);
    is_noted = true;
}

const char *identity_spool_dir(void)
{
    return noted_at_start.spool_dir;
}

void identity_fill(struct segment_home *home, const struct settings *settings, const char *job)
{
    struct segment *segment = home->segment;
    uint64_t *row = segment->process_row;
    struct utsname system;
    char *program = scratch.path; /* the stack may be a signal handler's small one */
    char host[sizeof system.nodename];
    syscall(SYS_uname, &system);
    copy_as_file_name(host, sizeof host, system.nodename);
    program_path(program, sizeof scratch.path);
    if (!is_noted)
        note(&noted_at_start, settings, job);

    segment->names = (uint32_t)settings->names;
    if (segment->names == NAMES_hash)
        sha256(settings->names_key, strlen(settings->names_key), segment->names_key);
    row[processes_job] = segment_add_text(home, job);
    row[processes_step] = segment_add_text(home, noted_at_start.step);
    row[processes_account] = segment_add_text(home, noted_at_start.account);
    row[processes_nodes] = segment_add_text(home, noted_at_start.has_nodes ? noted_nodes : "");
    row[processes_user] = raw_getuid();
    row[processes_host] = segment_add_text(home, host);
    row[processes_program] = segment_add_text(home, program);
    const char *inputs = settings->inputs != NULL ? settings->inputs : "";
    command_of_process(segment_text(segment, row[processes_program]), settings->names == NAMES_base, inputs, &scratch.command);
    row[processes_script] = segment_add_text(home, scratch.command.command.script);
    row[processes_command] = segment_add_text(home, scratch.command.command.line);
    row[processes_directory] = segment_add_text(home, working_directory(scratch.path, sizeof scratch.path));
    row[processes_label] = segment_add_text(home, settings->label != NULL ? settings->label : "");
    row[processes_pid] = segment->pid;
    row[processes_parent] = (uint64_t)syscall(SYS_getppid);
    row[processes_rank] = (uint64_t)-1;
    row[processes_ranks] = 0;
    row[processes_slice_ns] = settings->slice_ns;
    row[processes_clock] = profiler_clock.is_counter || profiler_clock.is_mapped ? CLOCK_SOURCE_counter : CLOCK_SOURCE_vdso;
    row[processes_place] = home->place;
    segment->process = unique_id(row[processes_start_ns], segment->pid, host);
    /* Not before: most processes have no segment, and what SLICEWISE_DIR lies on may not answer. A child knows what its parent saw. */
    if (noted_at_start.anchor.path_bytes == 0)
        spool_anchor(&noted_at_start.anchor, noted_at_start.spool_dir);
    memcpy(segment->spool_dir, noted_at_start.spool_dir, sizeof segment->spool_dir);
    segment->anchor = noted_at_start.anchor;
}
