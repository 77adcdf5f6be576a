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

/* A directory whose name has no link in it; guarded by the engine's lock. */
static struct {
    size_t length; /* 0: none is known */
    char name[FILE_NAME_BYTES];
} plain_directory;

void opened_note(descriptor word, const struct statx *status, const char *name, size_t length)
{
    last.word = 0; /* of a handler that comes in the middle nothing is left but its name, which is then not that of our file */
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

/* How long the absolute name is, which is in scratch.path then; 0: there is none, or one that the kernel would say otherwise. */
static size_t absolute_name(void)
{
    char *path = scratch.path;
    size_t begin = 0;
    if (last.name[0] != '/') {
        long got = raw_result(syscall(SYS_getcwd, path, sizeof scratch.path - FILE_NAME_BYTES - 1));
        if (got <= 1 || path[0] != '/')
            return 0;
        begin = (size_t)got - 1;
        if (begin > 1)
            path[begin++] = '/';
    }
    memcpy(path + begin, last.name, last.length + 1);
    for (const char *part = path + begin - (begin != 0); (part = strchr(part, '/')) != NULL; part++)
        if (part[1] == '/' || part[1] == '.')
            return 0;
    return begin + last.length;
}

static size_t directory_of(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

/* The kernel's name of a working directory has no link in it. */
static bool is_plain(const char *path, size_t directory)
{
    return memchr(last.name, '/', last.length) == NULL ||
           (directory == plain_directory.length && memcmp(path, plain_directory.name, directory) == 0);
}

const char *opened_name(descriptor word)
{
    struct statx status;
    if (word == 0 || last.word != word)
        return NULL;
    size_t length = absolute_name();
    if (length == 0 || !is_plain(scratch.path, directory_of(scratch.path, length)) ||
        raw_statx(AT_FDCWD, scratch.path, AT_SYMLINK_NOFOLLOW, &status) < 0)
        return NULL;
    bool is_same = S_ISREG(status.stx_mode) && status.stx_ino == last.inode && status.stx_dev_major == last.device_major &&
                   status.stx_dev_minor == last.device_minor;
    return is_same ? scratch.path : NULL;
}

void opened_learn(descriptor word, const char *kernels_name)
{
    if (word == 0 || last.word != word || strcmp(last.name, kernels_name) != 0)
        return;
    plain_directory.length = directory_of(last.name, last.length);
    memcpy(plain_directory.name, last.name, plain_directory.length);
}
