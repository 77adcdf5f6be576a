/* What descriptors lead to: a table of words, indexed by descriptor, in private memory. A word is 0 until the descriptor is looked at: those
 * that came to be behind our back (inherited, received, made by a call that nobody wraps) are looked at when first used. Any thread
 * reads and writes words; entering a new mount or file takes the engine's lock. */
#include "descriptor.h"

#include "asleep.h"
#include "mount.h"
#include "record.h"
#include "state.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

_Atomic descriptor *descriptor_table;
static _Atomic uint32_t last_generation;

bool descriptor_start(void)
{
    if (descriptor_table != NULL)
        return true;
    void *memory = (void *)syscall(SYS_mmap, NULL, DESCRIPTORS_MAX * sizeof(descriptor), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    /* A child of fork knows none of its descriptors and so counts nothing on its parent's lanes, however it was forked. */
    syscall(SYS_madvise, memory, DESCRIPTORS_MAX * sizeof(descriptor), MADV_WIPEONFORK);
    descriptor_table = memory;
    return true;
}

void descriptor_forget_all(void)
{
    if (descriptor_table != NULL)
        syscall(SYS_madvise, descriptor_table, DESCRIPTORS_MAX * sizeof(descriptor), MADV_DONTNEED);
}

static descriptor word_of(uint32_t mount, enum object object, uint32_t file)
{
    uint32_t generation = atomic_fetch_add_explicit(&last_generation, 1, memory_order_relaxed) + 1;
    return (uint64_t)generation << 32 | (uint64_t)file << 16 | (uint64_t)object << 8 | DESCRIPTOR_KNOWN | mount;
}

#define GONE " (deleted)"

/* Caller holds the lock, which guards the answer too: the stack may be a signal handler's small one. */
static const char *path_of_descriptor(int fd)
{
    static char path[PATH_MAX];
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = raw_readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    /* The kernel says so of every name that it has let go, which a network file system often does with files that live. */
    long name = length - (long)strlen(GONE);
    struct statx status;
    if (name > 0 && strcmp(path + name, GONE) == 0 && raw_statx_descriptor(fd, &status) == 0 && status.stx_nlink > 0 &&
        raw_statx(AT_FDCWD, path, 0, &status) < 0)
        path[name] = '\0';
    return path;
}

uint32_t mount_of_device(enum object object, uint64_t device, int fd)
{
    uint32_t mount = mount_find(engine.home.segment, object, device);
    if (mount != MOUNT_NOT_KNOWN)
        return mount;
    struct held_lock held = lock_take(&engine.lock);
    mount = mount_enter(&engine.home, object, device, object == OBJECT_file && fd >= 0 ? path_of_descriptor(fd) : NULL);
    lock_give(held);
    return mount;
}

descriptor descriptor_classify(int fd)
{
    struct statx status;
    if (fd < 0 || raw_statx_descriptor(fd, &status) < 0)
        return DESCRIPTOR_KNOWN | (uint64_t)FILE_NONE << 16 | MOUNT_OTHER;
    enum object object = object_of_mode(status.stx_mode);
    uint32_t mount = mount_of_device(object, makedev(status.stx_dev_major, status.stx_dev_minor), fd);
    if (engine.home.segment->mounts[mount][mounts_object] != object)
        object = OBJECT_other;
    descriptor word = word_of(mount, object, object == OBJECT_file && S_ISREG(status.stx_mode) ? FILE_NOT_LOOKED_UP : FILE_NONE);
    if ((unsigned)fd < DESCRIPTORS_MAX && !lend_is_child())
        atomic_store_explicit(&descriptor_table[fd], word, memory_order_relaxed);
    return word;
}

descriptor descriptor_release(int fd)
{
    if ((unsigned)fd >= DESCRIPTORS_MAX)
        return 0;
    uint32_t state = atomic_load_explicit(engine_switch, memory_order_relaxed);
    if (state != ENGINE_ON)
        return state == ENGINE_ASLEEP ? asleep_look(fd) : 0;
    if (thread_state.holds_lock) { /* lock.h: nothing may be looked up */
        atomic_store_explicit(&descriptor_table[fd], 0, memory_order_relaxed);
        return 0;
    }
    descriptor word = descriptor_of(fd);
    if (!lend_is_child())
        atomic_store_explicit(&descriptor_table[fd], 0, memory_order_relaxed);
    return word;
}

static bool has_table(void)
{
    return atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON;
}

void descriptor_release_range(unsigned first, unsigned last)
{
    if (!has_table() || lend_is_child())
        return;
    const unsigned words_a_page = PAGE_BYTES / sizeof(descriptor);
    unsigned end = last < DESCRIPTORS_MAX ? last + 1 : DESCRIPTORS_MAX, fd = first;
    /* To the end of the table by giving whole pages back: nearly all of them were never touched. */
    unsigned first_whole_page = (first + words_a_page - 1) / words_a_page * words_a_page;
    if (end == DESCRIPTORS_MAX && first_whole_page < end) {
        syscall(SYS_madvise, descriptor_table + first_whole_page, (end - first_whole_page) * sizeof(descriptor), MADV_DONTNEED);
        end = first_whole_page;
    }
    for (; fd < end; fd++)
        atomic_store_explicit(&descriptor_table[fd], 0, memory_order_relaxed);
}

void descriptor_copied(int from, int to)
{
    if ((unsigned)to >= DESCRIPTORS_MAX || from == to || !has_table() || lend_is_child())
        return;
    descriptor word = (unsigned)from < DESCRIPTORS_MAX ? atomic_load_explicit(&descriptor_table[from], memory_order_relaxed) : 0;
    atomic_store_explicit(&descriptor_table[to], word, memory_order_relaxed);
}

/* Finds the path in the table of files, or enters it. Caller holds the lock. */
static uint32_t enter_file(const char *path, uint32_t mount)
{
    struct segment *segment = engine.home.segment;
    for (uint32_t i = 1; i < segment->files_used; i++)
        if (segment->files[i][files_mount] == mount && strcmp(segment_text(segment, segment->files[i][files_path]), path) == 0)
            return i;
    uint32_t index = segment->files_used;
    if (index == 0) { /* row 0: all that does not fit */
        if (segment_reserve(&engine.home, segment->files[0], sizeof segment->files[0]) < 0) {
            segment_count_mishap(segment, MISHAP_files_full);
            return FILE_NONE;
        }
        segment->files_used = index = 1;
    }
    uint64_t text = 0;
    if (index < FILES_MAX && segment_reserve(&engine.home, segment->files[index], sizeof segment->files[index]) == 0)
        text = segment_add_text(&engine.home, path);
    if (text == 0) {
        segment_count_mishap(segment, MISHAP_files_full);
        return 0;
    }
    segment->files[index][files_file] = index;
    segment->files[index][files_mount] = mount;
    segment->files[index][files_path] = text;
    segment->files_used = index + 1;
    return index;
}

/* A long path's end says more than its beginning. */
#define FILE_PATH_MOST 240

static uint32_t look_up_file(int fd, descriptor word)
{
    struct held_lock held = lock_take(&engine.lock);
    const char *path = path_of_descriptor(fd);
    size_t length = strlen(path);
    uint32_t file = enter_file(length > FILE_PATH_MOST ? path + length - FILE_PATH_MOST : path, descriptor_mount(word));
    lock_give_keeping_signals(held);
    return file;
}

void stream_switch(struct stream *stream, int fd, descriptor word)
{
    stream->usual = NOT_USUAL; /* first: what is left half done (guard.h) is then begun anew */
    if (stream->descriptor != 0)
        stream_settle(&engine.home, stream);
    if (descriptor_file(word) == FILE_NOT_LOOKED_UP && (unsigned)fd < DESCRIPTORS_MAX) {
        uint32_t file = look_up_file(fd, word);
        descriptor known = (word & ~((uint64_t)FILE_NONE << 16)) | (uint64_t)file << 16;
        if (atomic_load_explicit(&descriptor_table[fd], memory_order_relaxed) == word)
            atomic_store_explicit(&descriptor_table[fd], known, memory_order_relaxed);
        word = known;
        stream->counter[files_opens] = file < FILES_MAX;
    }
    stream->file = descriptor_file(word);
    stream->is_absolute = 0;
    stream->position = 0;
    stream->last_end = NOTHING_TO_FOLLOW;
    atomic_signal_fence(memory_order_release);
    stream->descriptor = word;
}
