#include "bounded_io.h"

#include "adopt.h"
#include "clock.h"
#include "drain_helper.h"
#include "local.h"
#include "raw.h"
#include "spool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HUNG_MAX = 64, SILENT_MAX = 8 };

/* Directories of profiles that did not answer. The drain helper that waits for one notes when it does. */
static struct hung {
    char dir[sizeof((struct segment *)0)->spool_dir];
    _Atomic uint32_t task;
} hung[HUNG_MAX];
static unsigned hung_count;
static uint64_t wait_ns = 5 * NS_PER_SECOND;

/* Others hold a segment for microseconds while they look, and longer while they finish it: then it is theirs. */
#define HELD_APART_NS (NS_PER_SECOND / 1000)
enum { WAITS_MAX = 1000 };
static unsigned waits_left = WAITS_MAX;

static bool wait_for_another(void)
{
    const struct timespec apart = { .tv_nsec = HELD_APART_NS };
    if (waits_left == 0)
        return false;
    waits_left--;
    nanosleep(&apart, NULL);
    return true;
}

static struct hung *find_hung(const char *dir)
{
    for (unsigned i = 0; i < hung_count; i++)
        if (strcmp(hung[i].dir, dir) == 0)
            return &hung[i];
    return NULL;
}

static int append(struct segment *segment, const void *frames, size_t bytes)
{
    if (spool_into == NULL && strchr(segment->spool_dir, '/') == NULL) /* no spool at all: it says why */
        return spool_append_ourselves(segment, frames, bytes, NULL);
    int profiles = spool_into != NULL ? local_open(spool_into) : local_open_profiles(segment, false);
    if (profiles >= 0) {
        int appended = spool_append_ourselves(segment, frames, bytes, &profiles);
        raw_close(profiles);
        return appended;
    }
    const char *dir = spool_into != NULL ? spool_into : segment->spool_dir;
    struct hung *place = find_hung(dir);
    if ((place != NULL && atomic_load(&place->task) != 0) || (place == NULL && hung_count == HUNG_MAX))
        return -SPOOL_LATE;
    if (place == NULL) {
        place = &hung[hung_count];
        snprintf(place->dir, sizeof place->dir, "%s", dir);
    }
    int wrong;
    struct drain_helper *helper = drain_helper_begin(segment, frames, bytes, &place->task, &wrong);
    if (helper == NULL)
        return wrong < 0 ? wrong : spool_append_ourselves(segment, frames, bytes, NULL);
    if (drain_helper_wait(&place->task, clock_read(CLOCK_MONOTONIC) + wait_ns))
        return drain_helper_settle(helper, segment);
    drain_helper_abandon(helper);
    hung_count += place == &hung[hung_count];
    return -SPOOL_LATE;
}

void bounded_io_begin(uint64_t ns)
{
    wait_ns = ns;
    spool_carrier = append;
    adopt_is_same_directory = bounded_io_is_same;
    adopt_waits = wait_for_another;
}

/* What a child is asked: whether a directory answers, whether two paths lead to one, whether a file is there. */
struct question {
    enum { DOES_ANSWER, IS_SAME, IS_THERE } kind;
    const char *one, *other;
};

/* Children that did not answer, and wait in the kernel beyond killing. What they wait for is not asked again before they are gone. */
static struct silent {
    char path[1100];
    pid_t child;
} silent[SILENT_MAX];

static bool look(const struct question *question)
{
    struct stat one, other;
    if (question->kind == IS_THERE)
        return access(question->one, F_OK) == 0;
    if (question->kind == IS_SAME)
        return stat(question->one, &one) == 0 && stat(question->other, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    char entries[1024];
    int fd = open(question->one, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) { /* what can be opened may still not be read */
        syscall(SYS_getdents64, fd, entries, sizeof entries);
        close(fd);
    }
    return true;
}

/* A place for a path whose child is to be remembered if it hangs; NULL where the path hangs already, or too many do. */
static struct silent *find_place(const char *path)
{
    struct silent *place = NULL;
    for (unsigned i = 0; i < SILENT_MAX; i++) {
        if (silent[i].child != 0 && waitpid(silent[i].child, NULL, WNOHANG) != 0)
            silent[i].child = 0;
        if (silent[i].child == 0)
            place = &silent[i];
        else if (strcmp(silent[i].path, path) == 0)
            return NULL;
    }
    return place;
}

/* Asks in a child. What waits for a dead server may be beyond killing, and is then left behind. */
static enum answer ask(const struct question *question)
{
    int ends[2];
    unsigned char is_so;
    struct silent *place = find_place(question->one);
    if (place == NULL)
        return ANSWER_NONE;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return look(question) ? ANSWER_YES : ANSWER_NO;
    pid_t child = fork();
    if (child == 0) {
        /* Nobody is to wait for the end of what we write because this process cannot end. */
        dup2(ends[1], 0);
        syscall(SYS_close_range, 1u, ~0u, 0u); /* glibc has a name for it since 2.34 */
        is_so = look(question);
        _exit(write(0, &is_so, 1) != 1);
    }
    close(ends[1]);
    struct pollfd end = { .fd = ends[0], .events = POLLIN };
    uint64_t until_ns = clock_read(CLOCK_MONOTONIC) + wait_ns, now;
    int ready = 0;
    while (child > 0 && ready <= 0 && (now = clock_read(CLOCK_MONOTONIC)) < until_ns)
        ready = poll(&end, 1, (int)((until_ns - now) / 1000000) + 1);
    bool has_answer = ready > 0 && read(ends[0], &is_so, 1) == 1;
    close(ends[0]);
    if (child < 0)
        return look(question) ? ANSWER_YES : ANSWER_NO;
    if (has_answer) {
        waitpid(child, NULL, 0);
        return is_so ? ANSWER_YES : ANSWER_NO;
    }
    kill(child, SIGKILL);
    snprintf(place->path, sizeof place->path, "%s", question->one);
    place->child = child;
    return ANSWER_NONE;
}

bool bounded_io_answers(const char *path)
{
    return local_is_dir(path) || ask(&(struct question){ DOES_ANSWER, path, NULL }) != ANSWER_NONE;
}

bool bounded_io_is_same(const char *one, const char *other)
{
    return ask(&(struct question){ IS_SAME, one, other }) == ANSWER_YES;
}

enum answer bounded_io_is_there(const char *dir, const char *path)
{
    if (local_is_dir(dir))
        return access(path, F_OK) == 0 ? ANSWER_YES : ANSWER_NO;
    return ask(&(struct question){ IS_THERE, path, NULL });
}
