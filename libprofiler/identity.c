#include "identity.h"

#include "clock.h"
#include "raw.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static const char *first_of(const char *const *variables)
{
    for (; *variables != NULL; variables++) {
        const char *value = getenv(*variables);
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

static void copy_as_file_name(char *name, size_t room, const char *text)
{
    size_t i = 0;
    for (; i + 1 < room && text[i] != '\0'; i++) {
        char c = text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-_+=.,:@", c) != NULL;
        name[i] = is_plain && !(i == 0 && c == '.') ? c : '_';
    }
    name[i] = '\0';
}

static void program_path(char *path, size_t room)
{
    long length = raw_readlink("/proc/self/exe", path, room - 1);
    path[length > 0 ? length : 0] = '\0';
}

bool identity_job(char *name, size_t room, const struct settings *settings)
{
    static const char *const schedulers[] = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", NULL };
    const char *given = settings->job[0] != '\0' ? settings->job : first_of(schedulers);
    if (given != NULL) {
        copy_as_file_name(name, room, given);
        return false;
    }
    static char path[PATH_MAX];
    char made[128];
    program_path(path, sizeof path);
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

static void set_spool_dir(struct segment *segment, const char *dir, const char *job)
{
    static char here[PATH_MAX];
    if (dir[0] == '/' || syscall(SYS_getcwd, here, sizeof here) < 0)
        here[0] = '\0';
    int length = snprintf(segment->spool_dir, sizeof segment->spool_dir, "%s%s%s/%s", here, here[0] != '\0' ? "/" : "", dir, job);
    if ((size_t)length >= sizeof segment->spool_dir)
        segment->spool_dir[0] = '\0'; /* better no place than another one */
}

void identity_fill(struct segment_home *home, const struct settings *settings, const char *job)
{
    static const char *const steps[] = { "SLURM_STEP_ID", "PBS_TASKNUM", "LS_JOBPID", NULL };
    static const char *const accounts[] = { "SLURM_JOB_ACCOUNT", "PBS_ACCOUNT", "LSB_PROJECT_NAME", NULL };
    static const char *const node_lists[] = { "SLURM_JOB_NODELIST", "LSB_HOSTS", NULL };
    struct segment *segment = home->segment;
    uint64_t *row = segment->process_row;
    struct utsname system;
    static char program[PATH_MAX];
    char host[sizeof system.nodename];
    uname(&system);
    copy_as_file_name(host, sizeof host, system.nodename);
    program_path(program, sizeof program);
    const char *step = first_of(steps), *account = first_of(accounts), *nodes = first_of(node_lists);

    row[processes_job] = segment_add_text(home, job);
    row[processes_step] = segment_add_text(home, step != NULL ? step : "");
    row[processes_account] = segment_add_text(home, account != NULL ? account : "");
    row[processes_nodes] = segment_add_text(home, nodes != NULL ? nodes : "");
    row[processes_user] = getuid();
    row[processes_host] = segment_add_text(home, host);
    row[processes_program] = segment_add_text(home, program);
    row[processes_pid] = segment->pid;
    row[processes_parent] = (uint64_t)getppid();
    row[processes_rank] = (uint64_t)-1;
    row[processes_ranks] = 0;
    row[processes_slice_ns] = settings->slice_ns;
    row[processes_clock] = profiler_clock.is_counter ? CLOCK_SOURCE_counter : CLOCK_SOURCE_vdso;
    row[processes_place] = home->place;
    segment->process = unique_id(row[processes_start_ns], segment->pid, host);
    set_spool_dir(segment, settings->dir, job);
}
