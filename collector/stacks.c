#include "stacks.h"

#include "clock.h"
#include "json_text.h"
#include "print_line.h"
#include "stack_walk.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AT_ONCE = 8, SECONDS_USUAL = 5, NAP_NS = 1000000, NS_PER_S = 1000000000 };

/* How a look at a process ended: a child's exit status. */
enum outcome { LOOK_done, LOOK_gone, LOOK_denied, LOOK_another, LOOK_libunwind, LOOK_late, OUTCOMES };
static const char *const outcomes[OUTCOMES] = { "done", "gone", "denied", "another", "libunwind", "late" };

static FILE *open_of(int pid, int tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    return fopen(path, "re");
}

static enum outcome outcome_of_errno(void)
{
    return errno == EACCES || errno == EPERM ? LOOK_denied : LOOK_gone;
}

/* The process's code: what each file's executable mappings are. A segment of the job's shows that this is the job's process still, and not
 * another one that was given its number. */
static enum outcome print_modules(int pid, const char *job)
{
    char *line = NULL, segment[256];
    size_t room = 0;
    bool is_of_job = job == NULL;
    FILE *maps = open_of(pid, pid, "maps");
    if (maps == NULL)
        return outcome_of_errno();
    snprintf(segment, sizeof segment, "/%s.%d.", job != NULL ? job : "", pid);
    while (getline(&line, &room, maps) > 0) {
        unsigned long begin, end, offset;
        char may[5];
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &begin, &end, may, &offset, &at) < 4 || at == 0)
            continue;
        is_of_job |= strstr(line + at, segment) != NULL;
        if (may[2] != 'x' || line[at] == '\0')
            continue;
        printf("{\"pid\": %d, \"begin\": %lu, \"end\": %lu, \"offset\": %lu, ", pid, begin, end, offset);
        json_text("path", line + at);
        printf("}\n");
    }
    enum outcome outcome = ferror(maps) != 0 ? outcome_of_errno() : is_of_job ? LOOK_done : LOOK_another;
    free(line);
    fclose(maps);
    return outcome;
}

/* "name" and state from /proc/PID/task/TID/stat: the name may hold anything. */
static char thread_state(int pid, int tid, char *name, size_t room)
{
    char text[512];
    FILE *file = open_of(pid, tid, "stat");
    size_t got = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    text[got] = '\0';
    char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (begin == NULL || end == NULL || end < begin)
        return '\0';
    *end = '\0';
    snprintf(name, room, "%s", begin + 1);
    return end[1] == ' ' && isalpha((unsigned char)end[2]) ? end[2] : '\0';
}

static void print_thread(int pid, int tid, const char *name, char state, const struct stack_walk *walk)
{
    printf("{\"pid\": %d, \"tid\": %d, \"state\": \"%c\", \"call\": %ld, \"was_stopped\": %s, \"is_whole\": %s, ", pid, tid, state, walk->call,
           walk->was_stopped ? "true" : "false", walk->is_whole ? "true" : "false");
    json_text("name", name);
    printf(", \"frames\": [");
    for (unsigned i = 0; i < walk->count; i++)
        printf("%s%lu", i > 0 ? ", " : "", walk->pc[i]);
    printf("]}\n");
}

static enum outcome print_threads(int pid)
{
    char path[64], name[64];
    unsigned denied = 0, shown = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *dir = opendir(path);
    if (dir == NULL)
        return outcome_of_errno();
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        static struct stack_walk walk;
        int tid = atoi(entry->d_name);
        char state = tid > 0 ? thread_state(pid, tid, name, sizeof name) : '\0';
        if (state == '\0' || state == 'Z' || state == 'X')
            continue;
        int wrong = stack_walk(pid, tid, &walk);
        denied += wrong == -EPERM || wrong == -EACCES;
        if (wrong < 0 && wrong != -EBUSY)
            continue;
        print_thread(pid, tid, name, state, &walk);
        fflush(stdout); /* what is known is said, should the rest take too long */
        shown++;
    }
    closedir(dir);
    return shown > 0 ? LOOK_done : denied > 0 ? LOOK_denied : LOOK_gone;
}

/* A number in a file of one line; -1 where there is none. */
static long number_in(const char *path)
{
    long number = -1;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fscanf(file, "%ld", &number) != 1)
        number = -1;
    fclose(file);
    return number;
}

/* Root's child takes on the rights of the process's user before it reads the user's files, and those alone, unless the system leaves tracing to
 * root (Yama). The real user is asked for: a process can hide what it belongs to, not who began it. */
static bool take_rights_of(int pid)
{
    char line[256];
    unsigned user = 0, group = 0;
    if (geteuid() != 0 || number_in("/proc/sys/kernel/yama/ptrace_scope") > 0)
        return true;
    FILE *status = open_of(pid, pid, "status");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "Uid: %u", &user);
        (void)sscanf(line, "Gid: %u", &group);
    }
    if (status != NULL)
        fclose(status);
    return user == 0 || (setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0);
}

/* In a child of its own: should it be killed, whatever it stopped goes on, for the kernel ends the tracing. */
__attribute__((noreturn)) static void look_at(int pid, const char *job)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    enum outcome outcome = !stack_walk_open() ? LOOK_libunwind : take_rights_of(pid) ? LOOK_done : LOOK_denied;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* which a change of user takes back */
    if (outcome == LOOK_done)
        outcome = print_modules(pid, job);
    if (outcome == LOOK_done)
        outcome = print_threads(pid);
    fflush(stdout);
    _exit((int)outcome);
}

struct look {
    int pid;
    pid_t child; /* 0: over */
    FILE *lines;
    uint64_t until_ns;
};

static bool start(struct look *look, int pid, const char *job, double seconds)
{
    FILE *lines = tmpfile();
    if (lines == NULL)
        return false;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(lines), STDOUT_FILENO);
        look_at(pid, job);
    }
    *look = (struct look){ pid, child, lines, clock_read(CLOCK_MONOTONIC) + (uint64_t)(seconds * NS_PER_S) };
    return child > 0;
}

/* Prints what is known of the process; of a line that was cut off, nothing. */
static void finish(struct look *look, enum outcome outcome)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t got;
    rewind(look->lines);
    while ((got = getline(&line, &room, look->lines)) > 0)
        if (line[got - 1] == '\n')
            fwrite(line, 1, (size_t)got, stdout);
    printf("{\"pid\": %d, \"ended\": \"%s\"}\n", look->pid, outcomes[outcome]);
    free(line);
    fclose(look->lines);
    look->child = 0;
}

/* Returns whether the look is over. A child that hangs itself, in a file system that holds the program's file, is left to its fate. */
static bool is_over(struct look *look)
{
    int status;
    pid_t ended = waitpid(look->child, &status, WNOHANG);
    if (ended == look->child)
        finish(look, WIFEXITED(status) && WEXITSTATUS(status) < OUTCOMES ? (enum outcome)WEXITSTATUS(status) : LOOK_late);
    else if (clock_read(CLOCK_MONOTONIC) > look->until_ns) {
        kill(look->child, SIGKILL);
        finish(look, LOOK_late);
    }
    return look->child == 0;
}

int stacks(int argc, char **argv)
{
    static const struct option names[] = { { "job", required_argument, NULL, 'j' }, { "seconds", required_argument, NULL, 's' }, { 0 } };
    struct look looks[AT_ONCE] = { 0 };
    const char *job = NULL;
    double seconds = SECONDS_USUAL;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        job = option == 'j' ? optarg : job;
        seconds = option == 's' ? atof(optarg) : seconds;
        if (option == '?' || !(seconds > 0))
            return 2;
    }
    for (unsigned under_way = 0; optind < argc || under_way > 0;) {
        for (int i = 0; i < AT_ONCE; i++) {
            if (looks[i].child > 0 && is_over(&looks[i]))
                under_way--;
            if (looks[i].child == 0 && optind < argc) {
                if (!start(&looks[i], atoi(argv[optind++]), job, seconds)) {
                    print_line(stderr, "slicewise-collect: cannot look at processes: %s\n", strerror(errno));
                    return 1;
                }
                under_way++;
            }
        }
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    }
    return 0;
}
