/* A hostile segment: what a process left, with bytes changed, as its finisher and its collector meet it. The first byte says whether the
 * process lives, how it is visited, and whether it is a collector. Then come changes of nine bytes each: where (4 bytes; beyond the end:
 * counted from the begin again), what (5). */
#include "bed.h"

#include "adopt.h"
#include "engine.h"
#include "fake_engine.h"
#include "mount.h"
#include "record.h"
#include "state.h"
#include "visit.h"

#include <sys/wait.h>

enum { CHANGE_BYTES = 9, CHANGED_BYTES = 5 };
static unsigned char *base;
static size_t base_bytes;

static uint32_t gone(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return (uint32_t)pid;
}

/* A process with a mount, records, a packed frame and a lane in use. */
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    fake_engine_start(bed, 4000000000);
    struct segment *segment = engine.home.segment;
    snprintf(segment->spool_dir, sizeof segment->spool_dir, "%s/spool", bed);
    mount_enter(&engine.home, OBJECT_file, 1, 0, "/");
    for (uint64_t slice = 0; slice < RECORDS_MAX + 5; slice++) {
        struct record record = { .slice = 1000 + slice, .mount = 1, .layer = LAYER_posix };
        record.counts.counter[COUNTER_write_bytes] = slice + 1;
        record_append(&engine.home, &record);
    }
    segment->pid = gone();
    base_bytes = SEGMENT_FIXED_BYTES + LANE_BYTES;
    base = malloc(base_bytes);
    memcpy(base, segment, base_bytes);
    unlink(engine.home.path);
    fake_engine_stop();
    return 0;
}

static void set_word(const char *path, size_t where, uint32_t word)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (pwrite(fd, &word, sizeof word, (off_t)where) != sizeof word)
        abort();
    close(fd);
}

static void make_segment(const char *path, const uint8_t *data, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct segment)) != 0 || pwrite(fd, base, base_bytes, 0) != (ssize_t)base_bytes)
        abort();
    for (; size >= CHANGE_BYTES; data += CHANGE_BYTES, size -= CHANGE_BYTES) {
        uint32_t where;
        memcpy(&where, data, sizeof where);
        /* Half of all changes are to the head, where what is used as an index or a length lies. */
        size_t room = where & 1 ? offsetof(struct segment, problems) : sizeof(struct segment) - CHANGED_BYTES;
        if (pwrite(fd, data + sizeof where, CHANGED_BYTES, (off_t)((where >> 1) % room)) != CHANGED_BYTES)
            abort();
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fake_system.writable_below = bed;
    char directory[256], path[512];
    segment_user_dir(directory, sizeof directory, bed, geteuid(), 0);
    mkdir(directory, 0700);
    snprintf(path, sizeof path, "%s/job.1.1", directory);
    make_segment(path, data + 1, size - 1);
    if (data[0] & 1)
        set_word(path, offsetof(struct segment, pid), (uint32_t)getpid());
    if (data[0] & 8)
        set_word(path, offsetof(struct segment, is_of_node), 1);
    struct visits visits = { .looks_closely = (data[0] & 2) != 0 };
    if ((data[0] & 4) != 0 && visits_begin(&visits) == 0) {
        int dir = adopt_open_dir(directory);
        if (dir >= 0) {
            visit_segment(dir, path, &visits);
            close(dir);
        }
        visits_end(&visits);
    }
    adopt_segment(path, "");
    unlink(path);
    char command[128];
    if (rand() % 64 == 0) { /* spools grow, and may lie in any folder of the bed */
        snprintf(command, sizeof command, "rm -rf '%s'/spool*", bed);
        if (system(command) != 0)
            abort();
    }
    fake_system_reset();
    return 0;
}
