#include "opened.h"

#include "raw.h"
#include "scratch.h"
#include "segment.h"

#include <string.h>

static __thread struct {
    descriptor word; /* 0: none */
    uint64_t inode;
    uint32_t device_major, device_minor;
    size_t length;
    char name[FILE_NAME_BYTES];
} last;

void opened_note(descriptor word, const struct statx *status, const char *name, size_t length)
{
    last.word = 0; /* a handler that comes in the middle may leave a mixture of two names, which is no name of our file */
    atomic_signal_fence(memory_order_release);
    if (length >= sizeof last.name)
        return;
    memcpy(last.name, name, length + 1);
    last.length = length;
    last.inode = status->stx_ino;
    last.device_major = status->stx_dev_major;
    last.device_minor = status->stx_dev_minor;
    atomic_signal_fence(memory_order_release);
    last.word = word;
}

/* Puts the absolute name into scratch.path. Returns false if there is none, or one that the kernel would say otherwise. */
static bool make_absolute(void)
{
    char *path = scratch.path;
    size_t begin = 0;
    if (last.name[0] != '/') {
        long got = raw_result(syscall(SYS_getcwd, path, sizeof scratch.path - sizeof last.name - 1));
        if (got <= 1 || path[0] != '/') /* nowhere below the root directory */
            return false;
        begin = (size_t)got - 1;
        if (begin > 1)
            path[begin++] = '/';
    }
    memcpy(path + begin, last.name, last.length + 1);
    for (const char *part = path; (part = strchr(part, '/')) != NULL; part++)
        if (part[1] == '/' || part[1] == '.') /* also of a hidden file: the kernel is asked */
            return false;
    return true;
}

const char *opened_name(descriptor word)
{
    struct statx status;
    if (word == 0 || last.word != word || !make_absolute())
        return NULL;
    int fd = raw_open_known(scratch.path, 0, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return NULL;
    bool is_same = raw_statx_descriptor(fd, &status) == 0 && status.stx_ino == last.inode && status.stx_dev_major == last.device_major &&
                   status.stx_dev_minor == last.device_minor;
    raw_close(fd);
    return is_same ? scratch.path : NULL;
}
