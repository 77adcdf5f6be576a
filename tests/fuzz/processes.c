/* Texts of /proc/PID and of control groups as no kernel writes them: the first byte says which, the rest is the text. A process of the job, its
 * child and the job's control group are looked at with it, again with the half of it, and once more when it is gone. */
#include "bed.h"

#include "fake_engine.h"
#include "sampled.h"
#include "sources.h"
#include "state.h"

#include "clock.h"

static const struct {
    const char *name, *usual;
} texts[] = {
    { "proc/40/stat", "40 (copy) S 7 1 1 0 -1 0 9 0 0 0 3 4 0 0 20 0 1 0 100 0 0\n" },
    { "proc/41/stat", "41 (child) S 40 1 1 0 -1 0 9 7 0 0 3 4 0 0 20 0 1 0 200 0 0\n" }, /* has waited for children of its own */
    { "proc/40/io", "rchar: 1\nwchar: 9000000\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 5\ncancelled_write_bytes: 0\n" },
    { "proc/41/io", "rchar: 1\nwchar: 9000000\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 5\ncancelled_write_bytes: 0\n" },
    { "proc/41/task/41/io", "rchar: 1\nwchar: 70000\nsyscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: 5\ncancelled_write_bytes: 0\n" },
    { "proc/40/status", "Name:\tcopy\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t40\t2\n" },
    { "proc/40/cgroup", "3:memory:/x\n0::/slurm/job_47/step_0\n" },
    { "proc/self/cgroup", "3:memory:/x\n0::/slurm/job_47/step_0\n" },
    { "sys/fs/cgroup/slurm/job_47/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n8:16 \n" },
    { "sys/fs/cgroup/slurm/job_47/memory.stat", "anon 1\nfile 2\nfile_dirty 3\nfile_writeback 4\npgmajfault 5\n" },
    { "sys/fs/cgroup/slurm/job_47/io.pressure", "some avg10=0.00 total=1\nfull avg10=0.00 total=2\n" },
    { "sys/fs/cgroup/cgroup.controllers", "io memory\n" },
};
enum { TEXTS = sizeof texts / sizeof *texts, LAUNCHER = 7, ROUNDS = 4, RUNS_A_SEGMENT = 1000 /* names fill it */ };

static struct sampled sampled;

static void make_directories(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", bed, name);
    for (char *slash = path + strlen(bed) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    for (unsigned i = 0; i < TEXTS; i++) {
        make_directories(texts[i].name);
        bed_write(bed_path(texts[i].name), texts[i].usual, strlen(texts[i].usual));
    }
    if (sampled_begin(&sampled, bed, 1000000000, LAUNCHER, "47") != 0)
        abort();
    return 0;
}

/* Names end, and nobody has more rows than were pending. */
static void check(void)
{
    if (sampled.followed_used > FOLLOWED_MAX || sampled.programs_used > PROGRAMS_MAX || sampled.belonging.used > SEEN_MAX)
        abort();
    for (unsigned i = 0; i < sampled.followed_used; i++)
        if (memchr(sampled.followed[i].program, '\0', PROCESS_NAME_BYTES) == NULL)
            abort();
}

static void look(struct reading *reading, struct profiled *profiled)
{
    static struct sample sample;
    fake_system.realtime_ns += 700000000;
    fake_system.monotonic_ns += 700000000;
    sources_read(reading);
    sampled_look(&sampled, profiled);
    sampled_settle(&sampled, profiled);
    sample_begin(&sample);
    sampled_add_rows(&sampled, &engine.home, &sample);
    if (sample.words[0] > SAMPLE_WORDS_MAX)
        abort();
    sampled_are_kept(&sampled);
    check();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reading reading;
    static struct profiled profiled;
    static unsigned long runs;
    if (size == 0)
        return 0;
    unsigned which = *data++ % TEXTS;
    const char *path = bed_path(texts[which].name);
    size--;
    fake_system.has_clock = true;
    fake_system.realtime_ns = fake_system.monotonic_ns = 1000000000000;
    if (runs++ % RUNS_A_SEGMENT == 0) {
        if (runs > 1)
            fake_engine_stop();
        fake_engine_start(bed, 1000000000);
    }
    struct belonging belonging = sampled.belonging; /* whose memory is asked for once */
    belonging.scans = belonging.used = 0;
    sampled = (struct sampled){ .slice_ns = 1000000000, .belonging = belonging };
    reading = (struct reading){ .root = bed };
    bed_write(path, data, size);
    procfs_cgroup_of_job(bed, "47", false, sampled.belonging.cgroup, sizeof sampled.belonging.cgroup);
    cgroup_find(&reading.cgroup, bed, which % 2 == 0 ? "own" : "", "47");
    look(&reading, &profiled);
    bed_write(path, data, size / 2);
    look(&reading, &profiled);
    unlink(path);
    for (unsigned i = 0; i < ROUNDS; i++)
        look(&reading, &profiled);
    sampled_end(&sampled);
    bed_write(path, texts[which].usual, strlen(texts[which].usual));
    return 0;
}
