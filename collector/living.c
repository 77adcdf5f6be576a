#include "living.h"

#include "adopt.h"
#include "raw.h"

static struct segment *copy_at_rest(int fd)
{
    struct segment *segment = NULL;
    for (int attempt = 0; attempt < 8; attempt++) {
        uint32_t after;
        segment = adopt_copy(fd);
        if (segment == NULL || raw_read_at(fd, &after, sizeof after, offsetof(struct segment, totals_turn)) != sizeof after)
            break;
        uint32_t before = atomic_load(&segment->totals_turn);
        if (before == after && before % 2 == 0)
            return segment;
        adopt_drop_copy(segment);
        segment = NULL;
    }
    if (segment != NULL)
        adopt_drop_copy(segment);
    return NULL;
}

static bool is_living(const struct segment *segment)
{
    return atomic_load(&segment->state) == SEGMENT_LIVE && !segment->is_last_packed && adopt_is_sound(segment) &&
           (segment->pid_namespace != adopt_pid_namespace() || raw_result(syscall(SYS_kill, segment->pid, 0)) != -ESRCH);
}

struct segment *living_copy(int dir, const char *name, uid_t owner)
{
    struct stat status;
    int fd = raw_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return NULL;
    bool is_segment =
        fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == owner && (size_t)status.st_size == sizeof(struct segment);
    struct segment *segment = is_segment ? copy_at_rest(fd) : NULL;
    raw_close(fd);
    if (segment == NULL || is_living(segment))
        return segment;
    adopt_drop_copy(segment);
    return NULL;
}
