#include "name.h"

#include "descriptor.h"
#include "engine.h"
#include "mix.h"
#include "mount.h"
#include "peek.h"
#include "state.h"
#include "vfork_child.h"

#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

#define KNOWN_MAX 64
/* Longer names are looked at on pages of their own: the stack may be a signal handler's small one. */
#define SHORT_NAME_BYTES 256

/* What a name began from, beside the words of descriptors, which are never so small. */
enum { FROM_ROOT = 1, FROM_WORKING_DIRECTORY = 2 };

/* `answer` is the tick at which the kernel was asked, with the mount in its lowest bits, and `key` the name's xor that: an answer that a handler or
 * another thread has half written has no name. */
static CALL_DATA struct {
    _Atomic uint64_t key, answer;
} known[KNOWN_MAX];
static CALL_DATA _Atomic uint64_t known_ticks;
/* Part of each key, and of the keys of those names whose last part was looked up as well. */
CALL_DATA _Atomic uint64_t name_changes, name_removals;
static CALL_DATA _Atomic bool was_removed; /* a name, since `name_changes` grew */

void name_forget(void)
{
    atomic_store_explicit(&was_removed, false, memory_order_relaxed);
    atomic_fetch_add(&name_changes, 1);
    atomic_fetch_add(&name_removals, 1);
}

/* A name that led through a link leads elsewhere when another entry comes in its place: by rename, or made anew after it was removed. */
void name_changed(enum operation operation)
{
    switch (operation) {
    case OP_rename:
    case OP_renameat:
    case OP_symlink:
    case OP_link: name_forget(); break;
    case OP_unlink:
    case OP_unlinkat:
    case OP_rmdir:
    case OP_remove:
        atomic_store_explicit(&was_removed, true, memory_order_relaxed);
        atomic_fetch_add(&name_removals, 1);
        break;
    case OP_mkdir:
    case OP_mkdirat:
    case OP_mkdtemp:
        if (atomic_load_explicit(&was_removed, memory_order_relaxed))
            name_forget();
        break;
    default: break;
    }
}

/* Operations on an entry itself: where a link leads to does not matter. */
static bool is_on_entry(enum operation operation)
{
    switch (operation) {
    case OP_rename:
    case OP_renameat:
    case OP_symlink:
    case OP_link:
    case OP_unlink:
    case OP_unlinkat:
    case OP_rmdir:
    case OP_remove:
    case OP_mkdir:
    case OP_mkdirat:
    case OP_mkdtemp:
    case OP_mknod:
    case OP_readlink: return true;
    default: return false;
    }
}

/* Errors that come of looking a name up. */
static bool is_of_lookup(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EEXIST || error == ENOTEMPTY;
}

extern char __libc_single_threaded __attribute__((weak));

/* The kernel has just read the name, and nobody is there who could have unmapped it since. Of two names it may have read the other one alone. */
static bool is_readable_still(const struct call *call)
{
    if (&__libc_single_threaded == NULL || !__libc_single_threaded)
        return false;
    switch (call->operation) {
    case OP_rename:
    case OP_renameat:
    case OP_symlink:
    case OP_link: return false;
    default: break;
    }
    return is_of_lookup(call->saved_errno);
}

static uint64_t device_of(const struct statx *status)
{
    return makedev(status->stx_dev_major, status->stx_dev_minor);
}

/* Without the last part. */
static size_t parent_length(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *slash = memrchr(path, '/', length);
    length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* The directory of an entry. `.` and `..` are no entries. */
static size_t directory_length(const char *path, size_t length)
{
    bool has_dots = length > 0 && path[length - 1] == '.' &&
                    (length == 1 || path[length - 2] == '/' || (path[length - 2] == '.' && (length == 2 || path[length - 3] == '/')));
    return has_dots ? length : parent_length(path, length);
}

/* One that no call met before. The kernel's list of mounts is searched by name where it has several of one device, or none. */
static uint32_t enter(int dirfd, const char *path, const struct statx *status)
{
    static char here[PATH_MAX]; /* guarded by the lock */
    struct held_lock held = lock_take(&engine.lock);
    uint32_t mount = mount_enter_seen(&engine.home, status);
    if (mount == MOUNT_NOT_KNOWN) {
        const char *hint = path;
        if (path[0] != '/' && dirfd == AT_FDCWD)
            hint = syscall(SYS_getcwd, here, sizeof here) > 0 ? here : NULL;
        else if (path[0] != '/')
            hint = descriptor_path(dirfd);
        mount = mount_enter(&engine.home, OBJECT_file, device_of(status), status->stx_mnt_id, hint);
    }
    lock_give(held);
    return mount;
}

/* Returns whether the kernel finds the name. */
static bool look(int dirfd, const char *path, uint32_t *mount)
{
    struct statx status;
    if (path[0] == '\0' && dirfd != AT_FDCWD) {
        *mount = descriptor_mount(descriptor_of(dirfd)); /* perhaps of no directory */
        return true;
    }
    if (raw_statx(dirfd, path, path[0] == '\0' ? AT_EMPTY_PATH : 0, &status) < 0)
        return false;
    *mount = mount_find_seen(engine.home.segment, OBJECT_file, device_of(&status), status.stx_mnt_id);
    if (*mount == MOUNT_NOT_KNOWN)
        *mount = enter(dirfd, path, &status);
    return true;
}

/* In a copy that may be written to. */
static uint32_t look_upwards(int dirfd, char *path, size_t length)
{
    uint32_t mount = MOUNT_OTHER;
    for (path[length] = '\0'; !look(dirfd, path, &mount); path[length] = '\0') {
        size_t shorter = parent_length(path, length);
        if (shorter == length)
            return MOUNT_OTHER;
        length = shorter;
    }
    return mount;
}

static char *map_copy(void)
{
    void *copy = (void *)syscall(SYS_mmap, NULL, PATH_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return copy != MAP_FAILED ? copy : NULL;
}

static void unmap_copy(char *copy)
{
    syscall(SYS_munmap, copy, PATH_MAX);
}

static __attribute__((noinline)) uint32_t ask(int dirfd, const char *path, size_t length)
{
    char copy[SHORT_NAME_BYTES];
    uint32_t mount;
    if (path[length] == '\0' && look(dirfd, path, &mount))
        return mount;
    if (length < sizeof copy)
        return look_upwards(dirfd, memcpy(copy, path, length), length);
    char *mapped = length < PATH_MAX ? map_copy() : NULL;
    if (mapped == NULL)
        return MOUNT_OTHER;
    mount = look_upwards(dirfd, memcpy(mapped, path, length), length);
    unmap_copy(mapped);
    return mount;
}

static uint32_t ask_and_note(uint64_t key, uint64_t tick, int dirfd, const char *path, size_t length)
{
    uint32_t mount = ask(dirfd, path, length);
    uint64_t answer = (tick & ~(uint64_t)(MOUNTS_MAX - 1)) | mount;
    atomic_store_explicit(&known[key % KNOWN_MAX].answer, answer, memory_order_relaxed);
    atomic_store_explicit(&known[key % KNOWN_MAX].key, key ^ answer, memory_order_relaxed);
    atomic_store_explicit(&known_ticks, ns_to_ticks(NAME_KNOWN_NS), memory_order_relaxed);
    return mount;
}

/* The name can be read. */
static uint32_t mount_of_name(const struct call *call, int dirfd, const char *path, bool is_entry)
{
    size_t length = strlen(path);
    if (is_entry)
        length = directory_length(path, length);
    uint64_t from = path[0] == '/' ? FROM_ROOT : dirfd == AT_FDCWD ? FROM_WORKING_DIRECTORY : descriptor_of(dirfd);
    if (length == 0 && from > FROM_WORKING_DIRECTORY)
        return descriptor_mount(from);
    if (atomic_load(&vfork_children) != 0) /* who may have another working directory, as this very thread */
        return ask(dirfd, path, length);
    /* Threads may have file systems, roots and working directories of their own (unshare). */
    uint64_t key = mix(atomic_load_explicit(&name_changes, memory_order_relaxed) ^ from, (uintptr_t)&thread_state);
    if (!is_entry)
        key = mix(key, atomic_load_explicit(&name_removals, memory_order_relaxed) + 1);
    key = mix_bytes(key, path, length);
    uint64_t answer = atomic_load_explicit(&known[key % KNOWN_MAX].answer, memory_order_relaxed);
    bool is_known = (atomic_load_explicit(&known[key % KNOWN_MAX].key, memory_order_relaxed) ^ answer) == key;
    uint64_t age = call->end_tick - (answer & ~(uint64_t)(MOUNTS_MAX - 1));
    if (is_known && age < atomic_load_explicit(&known_ticks, memory_order_relaxed))
        return answer & (MOUNTS_MAX - 1);
    return ask_and_note(key, call->end_tick, dirfd, path, length);
}

/* It may not be readable, or not for long: a copy is. */
static uint32_t mount_of_unread_name(const struct call *call, int dirfd, const char *path)
{
    char copy[SHORT_NAME_BYTES];
    bool is_entry = is_on_entry(call->operation) || is_of_lookup(call->saved_errno);
    if (peek_text(path, copy, sizeof copy) >= 0)
        return mount_of_name(call, dirfd, copy, is_entry);
    char *mapped = map_copy();
    if (mapped == NULL)
        return MOUNT_OTHER;
    uint32_t mount = peek_text(path, mapped, PATH_MAX) >= 0 ? mount_of_name(call, dirfd, mapped, is_entry) : MOUNT_OTHER;
    unmap_copy(mapped);
    return mount;
}

uint32_t name_mount(const struct call *call, int dirfd, const char *path, bool is_failed)
{
    if (path == NULL)
        return mount_of_name(call, dirfd, "", false);
    if (!is_failed)
        return mount_of_name(call, dirfd, path, is_on_entry(call->operation));
    return is_readable_still(call) ? mount_of_name(call, dirfd, path, true) : mount_of_unread_name(call, dirfd, path);
}

uint32_t engine_mount_of_path(const char *path)
{
    return engine_start() ? ask(AT_FDCWD, path, strlen(path)) : MOUNT_OTHER;
}
