#include "opened.h"

#include "clock.h"
#include "mix.h"
#include "name.h"
#include "raw.h"
#include "scratch.h"
#include "segment.h"
#include "vfork_child.h"

#include <string.h>

static __thread struct {
    descriptor word; /* 0: none */
    uint64_t inode;
    uint32_t device_major, device_minor;
    uint32_t links; /* 0: it has no name any more */
    uint64_t opened_tick;
    uint64_t removals; /* of names, until then */
    bool is_no_link;
    size_t length;
    char name[FILE_NAME_BYTES];
} last;

/* The directory in which a file was found without passing a link; by its absolute name. */
static __thread struct {
    uint64_t key, until_tick;
} plain;

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
    last.links = status->stx_nlink;
    last.opened_tick = tick_now();
    last.removals = atomic_load_explicit(&name_removals, memory_order_relaxed);
    last.is_no_link = false;
    atomic_signal_fence(memory_order_release);
    last.word = word;
}

void opened_is_no_link(descriptor word)
{
    last.is_no_link = last.word == word;
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

static uint64_t directory_key(const char *path)
{
    return mix_bytes(atomic_load(&name_changes), path, (size_t)(strrchr(path, '/') - path)) | 1;
}

/* Whether the name leads to the file still, in a directory that is known: only its last part may be a link. That is cached since it was opened. */
static bool is_plain(uint64_t key, uint64_t tick)
{
    char any;
    return plain.key == key && tick < plain.until_tick && last.links != 0 && tick - last.opened_tick < ns_to_ticks(NAME_KNOWN_NS) &&
           last.removals == atomic_load(&name_removals) && atomic_load(&vfork_children) == 0 &&
           (last.is_no_link || raw_readlink(scratch.path, &any, sizeof any) == -EINVAL);
}

const char *opened_name(descriptor word)
{
    struct statx status;
    if (word == 0 || last.word != word || !make_absolute())
        return NULL;
    uint64_t key = directory_key(scratch.path), tick = tick_now();
    if (is_plain(key, tick))
        return scratch.path;
    int fd = raw_open_known(scratch.path, 0, RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return NULL;
    bool is_same = raw_statx_descriptor(fd, &status) == 0 && status.stx_ino == last.inode && status.stx_dev_major == last.device_major &&
                   status.stx_dev_minor == last.device_minor;
    raw_close(fd);
    if (!is_same)
        return NULL;
    plain.key = key;
    plain.until_tick = tick + ns_to_ticks(NAME_KNOWN_NS);
    return scratch.path;
}
