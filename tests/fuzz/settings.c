/* An environment that nobody meant for Slicewise: what a user, a site or a launcher may set. An input is a list of NAME=VALUE, each ended by a 0;
 * the first byte says of which setting a line without a name is the value. */
#include "bed.h"

#include "fake_engine.h"
#include "identity.h"
#include "settings.h"
#include "state.h"
#include "turn.h"

enum { VARIABLES_MOST = 100, ROUNDS_A_SEGMENT = 32 /* which takes far longer than all else */ };

static const char *const names[] = {
#define SETTING(name, variable, type, standard, least, most, meaning) variable,
#include "settings.def"
    "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
};
enum { NAMES = sizeof names / sizeof *names };
extern char **environ;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    return 0;
}

/* What is kept lies within its bounds, whatever was asked for. */
static void check(const struct settings *settings)
{
    if (settings->slice_ns < 100000000 || settings->slice_ns > 60000000000 || settings->is_quiet > 1 || settings->is_off > 1 ||
        strlen(settings->dir) >= 4096 || strlen(settings->job) >= 4096 || strlen(settings->segment_dir) >= 4096)
        abort();
}

static void name_job(const struct settings *settings, bool has_segment)
{
    char job[64];
    identity_job(job, sizeof job, settings);
    if (memchr(job, '\0', sizeof job) == NULL || job[0] == '\0' || strchr(job, '/') != NULL || strcmp(job, ".") == 0 || strcmp(job, "..") == 0)
        abort();
    identity_is_further_rank();
    if (!has_segment)
        return;
    fake_engine_start(bed, 4000000000);
    identity_note(settings, job);
    identity_fill(&engine.home, settings, job);
    fake_engine_stop();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char texts[8192 + NAMES * 64];
    static char *given[VARIABLES_MOST + 1];
    struct settings settings;
    struct turn_address address;
    unsigned count = 0;
    size_t used = 0;
    if (size < 2 || size > 8192)
        return 0;
    unsigned named = *data++;
    const bool has_segment = named % ROUNDS_A_SEGMENT == 0;
    for (size--; size > 0 && count < VARIABLES_MOST;) {
        const uint8_t *end = memchr(data, '\0', size);
        size_t bytes = end != NULL ? (size_t)(end - data) : size;
        given[count++] = texts + used;
        if (memchr(data, '=', bytes) == NULL)
            used += (size_t)snprintf(texts + used, 64, "%s=", names[named++ % NAMES]);
        memcpy(texts + used, data, bytes);
        texts[used += bytes] = '\0';
        used++;
        data += bytes + (end != NULL);
        size -= bytes + (end != NULL);
        if (used > 8192)
            break;
    }
    given[count] = NULL;
    char **own = environ;
    environ = given;
    settings_read(&settings, NULL);
    check(&settings);
    fake_system.writable_below = bed;
    name_job(&settings, has_segment);
    turn_read_address(&address, strchr(given[0], '=') + 1);
    environ = own;
    fake_system_reset();
    return 0;
}
