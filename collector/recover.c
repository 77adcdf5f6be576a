#include "recover.h"

#include "adopt.h"
#include "bounded_io.h"
#include "clock.h"
#include "earlier.h"
#include "keep.h"
#include "left.h"
#include "own_segments.h"
#include "print_line.h"
#include "settings.h"
#include "spool.h"
#include "user.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Spools that could not be written, and why: many processes meet with the same. */
enum { REFUSALS_MAX = 64 };
#define NAP_NS (NS_PER_SECOND / 50)
struct refusal {
    char spool[sizeof((struct adoption_result *)0)->spool], dir[512];
    int error;
    unsigned processes;
};

struct tally {
    const char *only_spool_dir;
    unsigned killed, ended, alive, unseen, failed, busy, earlier, refusals_used, refused_elsewhere;
    struct refusal refusals[REFUSALS_MAX];
};

static bool has_complained; /* for all users, of whom each is asked in a child */

static void complain(const char *variable, const char *value, const char *wrong)
{
    if (!has_complained)
        print_line(stderr, "slicewise: %s%s%s: %s\n", variable, value != NULL ? "=" : "", value != NULL ? value : "", wrong);
}

static void note_refusal(struct tally *tally, const char *path, const struct adoption_result *result)
{
    int dir_bytes = (int)(strrchr(path, '/') - path);
    for (unsigned i = 0; i < tally->refusals_used; i++) {
        struct refusal *refusal = &tally->refusals[i];
        if (refusal->error == result->error && strcmp(refusal->spool, result->spool) == 0 && strncmp(refusal->dir, path, (size_t)dir_bytes) == 0 &&
            refusal->dir[dir_bytes] == '\0') {
            refusal->processes++;
            return;
        }
    }
    if (tally->refusals_used == REFUSALS_MAX) {
        tally->refused_elsewhere++;
        return;
    }
    struct refusal *refusal = &tally->refusals[tally->refusals_used++];
    memcpy(refusal->spool, result->spool, sizeof refusal->spool);
    snprintf(refusal->dir, sizeof refusal->dir, "%.*s", dir_bytes, path);
    refusal->error = result->error;
    refusal->processes = 1;
}

static void say_refusals(const struct tally *tally)
{
    for (unsigned i = 0; i < tally->refusals_used; i++) {
        const struct refusal *refusal = &tally->refusals[i];
        const char *s = refusal->processes == 1 ? "" : "es";
        print_line(
            stderr,
            "slicewise: %s: cannot write the profile of %u process%s (%s); their counts stay in %s for %d days: mend that, then run `slicewise "
            "recover`\n",
            refusal->spool, refusal->processes, s, spool_words(refusal->error), refusal->dir, KEPT_DAYS);
    }
    if (tally->refused_elsewhere > 0)
        print_line(stderr, "slicewise: the profiles of %u more processes cannot be written either, at other places\n", tally->refused_elsewhere);
}

static void finish(int dir, const char *path, void *argument)
{
    struct tally *tally = argument;
    struct adoption_result result = adopt_in(dir, path, tally->only_spool_dir);
    tally->killed += result.outcome == ADOPTED && result.ending == ENDING_killed;
    tally->ended += result.outcome == ADOPTED && result.ending != ENDING_killed;
    tally->alive += result.outcome == ADOPT_ALIVE;
    tally->unseen += result.outcome == ADOPT_UNSEEN;
    tally->busy += result.outcome == ADOPT_BUSY;
    tally->earlier += result.outcome == ADOPT_FOREIGN && earlier_made(path);
    if (result.outcome != ADOPT_FAILED)
        return;
    tally->failed++;
    note_refusal(tally, path, &result);
}

static void pass_over(const char *place, void *argument)
{
    print_line(stderr, "slicewise: %s: does not answer; segments that may lie there are left alone\n", place);
    ((struct tally *)argument)->failed++;
}

static void say_recovered(unsigned killed, unsigned ended, unsigned alive)
{
    const char *s = killed + ended == 1 ? "" : "es", *still = alive == 1 ? "s" : "";
    if (ended == 0)
        print_line(stdout, "slicewise: recovered %u process%s killed before %s profile was finished; %u still run%s\n", killed, s,
                   killed == 1 ? "its" : "their", alive, still);
    else if (killed == 0)
        print_line(stdout, "slicewise: recovered %u process%s that had ended without writing %s profile; %u still run%s\n", ended, s,
                   ended == 1 ? "its" : "their", alive, still);
    else
        print_line(stdout,
                   "slicewise: recovered %u processes: %u killed before their profile was finished, %u ended without writing it; %u still run%s\n",
                   killed + ended, killed, ended, alive, still);
}

static void count_earlier(int dir, const char *path, void *argument)
{
    (void)dir;
    *(unsigned *)argument += earlier_made(path);
}

/* As segments have it: the directory need not be there yet. */
static void name_in_full(char *full, size_t room, const char *dir)
{
    char here[PATH_MAX / 2];
    while (dir[0] == '.' && dir[1] == '/')
        dir += 2;
    bool is_below_here = dir[0] != '/' && getcwd(here, sizeof here) != NULL;
    snprintf(full, room, "%s%s%s", is_below_here ? here : "", is_below_here ? "/" : "", dir);
    for (size_t length = strlen(full); length > 1 && full[length - 1] == '/'; length--)
        full[length - 1] = '\0';
}

int recover_all_users(time_t since, int (*recover_for_one)(void *argument), void *argument)
{
    struct settings settings;
    settings_read(&settings, complain);
    has_complained = true;
    const char *const dirs[] = { settings.segment_dir, "/tmp", NULL };
    return user_each(dirs, since, recover_for_one, argument);
}

/* Once more, while processes that somebody ended are about to end: one that waits for storage takes until that answers. Looks take no more than
 * half of the time. */
static void finish_ending(const struct settings *settings, const char *prefix, struct tally *tally, uint64_t until_ns)
{
    uint64_t began_ns = clock_read(CLOCK_MONOTONIC), nap_ns = NAP_NS;
    while (tally->alive > 0 && tally->failed == 0 && began_ns + nap_ns < until_ns) {
        nanosleep(&(struct timespec){ .tv_sec = (time_t)(nap_ns / NS_PER_SECOND), .tv_nsec = (long)(nap_ns % NS_PER_SECOND) }, NULL);
        uint64_t looked_ns = clock_read(CLOCK_MONOTONIC);
        tally->alive = tally->unseen = tally->busy = tally->earlier = 0;
        own_segments_each(settings->segment_dir, prefix, finish, pass_over, tally);
        began_ns = clock_read(CLOCK_MONOTONIC);
        nap_ns = began_ns - looked_ns > NAP_NS ? began_ns - looked_ns : NAP_NS;
    }
    if (tally->alive > 0)
        print_line(
            stderr,
            "slicewise: processes of the job that still run: %u. Their counts are added when they end; if they are killed, run: slicewise recover "
            "%s\n",
            tally->alive, tally->only_spool_dir);
}

int recover(const char *job_dir, const char *job, const char *into, uint64_t until_ns)
{
    struct settings settings;
    char prefix[160];
    snprintf(prefix, sizeof prefix, "%s%s", job != NULL ? job : "", job != NULL ? "." : "");
    settings_read(&settings, complain);
    char spool_dir[PATH_MAX] = "";
    if (job_dir != NULL)
        name_in_full(spool_dir, sizeof spool_dir, job_dir);
    static char into_dir[PATH_MAX];
    if (into != NULL) {
        name_in_full(into_dir, sizeof into_dir, into);
        spool_into = into_dir;
    }
    static struct tally tally;
    tally = (struct tally){ .only_spool_dir = spool_dir };
    const char *only_job = job != NULL ? job : job_dir != NULL ? strrchr(spool_dir, '/') : NULL;
    only_job += only_job != NULL && only_job[0] == '/';
    spool_is_kept = true; /* segments are removed: what they held must be safe */
    bounded_io_begin(settings.exit_ns);
    if (job_dir != NULL && !bounded_io_answers(spool_dir)) {
        print_line(
            stderr,
            "slicewise: %s: does not answer; nothing can be written there. Counts stay in %s for %d days: when it answers, run `slicewise recover`\n",
            job_dir, settings.segment_dir, KEPT_DAYS);
        left_say_and_remove_old(settings.segment_dir, only_job);
        return 1;
    }
    own_segments_each(settings.segment_dir, prefix, finish, pass_over, &tally);
    if (until_ns > 0)
        finish_ending(&settings, prefix, &tally, until_ns);
    unsigned earlier = 0;
    if (tally.earlier > 0) {
        earlier_recover(job_dir, job, into);
        own_segments_each(settings.segment_dir, prefix, count_earlier, NULL, &earlier);
        tally.killed += earlier < tally.earlier ? tally.earlier - earlier : 0;
    }
    say_refusals(&tally);
    left_say_and_remove_old(settings.segment_dir, only_job);
    unsigned met = tally.killed + tally.ended + tally.alive + tally.unseen + tally.failed + tally.busy + earlier;
    if (job_dir != NULL && met == 0 && access(job_dir, F_OK) != 0 && errno == ENOENT) {
        print_line(stderr, "slicewise: %s: no such directory, and no segment of such a job; name the directory of a job's profile\n", job_dir);
        return 2;
    }
    say_recovered(tally.killed, tally.ended, tally.alive);
    if (tally.busy > 0)
        print_line(stdout, "slicewise: %u more %s being finished by somebody else at this moment\n", tally.busy, tally.busy == 1 ? "is" : "are");
    if (earlier > 0 && job_dir == NULL) /* whose they are is not known: they may be of other jobs */
        print_line(stdout,
                   "slicewise: %u more %s of another build of Slicewise: running, or to be finished by that build's slicewise-collect recover\n",
                   earlier, earlier == 1 ? "is" : "are");
    if (tally.unseen > 0)
        print_line(stdout, "slicewise: %u more cannot be judged from within this pid namespace (a container?): run it on the node itself\n",
                   tally.unseen);
    return tally.failed > 0;
}
