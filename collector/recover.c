#include "recover.h"

#include "adopt.h"
#include "earlier.h"
#include "patience.h"
#include "settings.h"
#include "spool.h"
#include "tell.h"
#include "user.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tally {
    unsigned finished, alive, unseen, failed, busy, earlier;
};

static void complain(const char *variable, const char *value, const char *wrong)
{
    tell(stderr, "slicewise: %s%s%s: %s\n", variable, value != NULL ? "=" : "", value != NULL ? value : "", wrong);
}

static void note(const char *path, const struct adoption_result *result, void *argument)
{
    struct tally *tally = argument;
    tally->finished += result->outcome == ADOPTED;
    tally->alive += result->outcome == ADOPT_ALIVE;
    tally->unseen += result->outcome == ADOPT_UNSEEN;
    tally->busy += result->outcome == ADOPT_BUSY;
    tally->earlier += result->outcome == ADOPT_FOREIGN && earlier_made(path);
    if (result->outcome != ADOPT_FAILED)
        return;
    tally->failed++;
    tell(stderr, "slicewise: %s: cannot write the profile (%s); its counts are kept in %s\n", result->spool, spool_words(result->error), path);
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

int recover_all_users(int (*recover_for_one)(void *argument), void *argument)
{
    struct settings settings;
    settings_read(&settings, complain);
    const char *const dirs[] = { settings.segment_dir, "/tmp", NULL };
    return user_each(dirs, recover_for_one, argument);
}

int recover(const char *job_dir, const char *job, const char *into)
{
    struct settings settings;
    char prefix[160];
    snprintf(prefix, sizeof prefix, "%s%s", job != NULL ? job : "", job != NULL ? "." : "");
    settings_read(&settings, complain);
    char spool_dir[PATH_MAX] = "";
    if (job_dir != NULL)
        name_in_full(spool_dir, sizeof spool_dir, job_dir);
    const char *tmpdir = getenv("TMPDIR");
    static char into_dir[PATH_MAX];
    if (into != NULL) {
        name_in_full(into_dir, sizeof into_dir, into);
        spool_into = into_dir;
    }
    struct tally tally = { 0 };
    spool_is_kept = true; /* segments are removed: what they held must be safe */
    patience_begin(settings.exit_ns);
    if (job_dir != NULL && !patience_answers(spool_dir)) {
        tell(stderr, "slicewise: %s: does not answer; nothing can be written there\n", job_dir);
        return 1;
    }
    const char *const dirs[] = { settings.segment_dir, tmpdir != NULL ? tmpdir : "/tmp" };
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        if (patience_answers(dirs[i]))
            adopt_all(dirs[i], prefix, spool_dir, note, &tally);
        else {
            tell(stderr, "slicewise: %s: does not answer; segments that may lie there are left alone\n", dirs[i]);
            tally.failed++;
        }
    }
    unsigned earlier = 0;
    if (tally.earlier > 0) {
        earlier_recover(job_dir, job, into);
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
            if (patience_answers(dirs[i]))
                adopt_each_below(dirs[i], prefix, count_earlier, &earlier);
        tally.finished += earlier < tally.earlier ? tally.earlier - earlier : 0;
    }
    if (job_dir != NULL && tally.finished + tally.alive + tally.unseen + tally.failed + tally.busy + earlier == 0 && access(job_dir, F_OK) != 0) {
        tell(stderr, "slicewise: %s: no such directory, and no segment of such a job; name the directory of a job's profile\n", job_dir);
        return 2;
    }
    tell(stdout, "slicewise: recovered %u process%s killed before %s profile was finished; %u still run%s\n", tally.finished,
         tally.finished == 1 ? "" : "es", tally.finished == 1 ? "its" : "their", tally.alive, tally.alive == 1 ? "s" : "");
    if (tally.busy > 0)
        tell(stdout, "slicewise: %u more %s being finished by somebody else at this moment\n", tally.busy, tally.busy == 1 ? "is" : "are");
    if (earlier > 0 && job_dir == NULL) /* whose they are is not known: they may be of other jobs */
        tell(stdout, "slicewise: %u more %s of another build of Slicewise: running, or to be finished by that build's slicewise-collect recover\n",
             earlier, earlier == 1 ? "is" : "are");
    if (tally.unseen > 0)
        tell(stdout, "slicewise: %u more cannot be judged from within this pid namespace (a container?): run it on the node itself\n", tally.unseen);
    return tally.failed > 0;
}
