/* What descriptors lead to: a table of words, indexed by descriptor, in private memory. The first ones lie on a page that every process has, all
 * others in a mapping that is made for the first of them. A word is 0 until the descriptor is looked at: those that came to be behind our back
 * (inherited, received, made by a call that nobody wraps) are looked at when first used. Any thread reads and writes words; entering a new
 * mount or file takes the engine's lock. */
#include "descriptor.h"

#include "files.h"
#include "guard.h"
#include "lazy_start.h"
#include "mix.h"
#include "mount.h"
#include "opened.h"
#include "record.h"
#include "scratch.h"
#include "sparse.h"
#include "state.h"
#include "fast_path.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

START_DATA _Atomic descriptor *_Atomic descriptor_far;
static START_DATA _Atomic uint32_t last_generation;

#define TRUST_SHIFT 32
#define TRUST_STEP (2ull << TRUST_SHIFT) /* never NO_TRUST, which is odd */

#define FAR_BYTES (DESCRIPTORS_MAX * (sizeof(descriptor) + sizeof(uint64_t)))

INLINE bool is_near(int fd)
{
    return __builtin_expect((unsigned)fd < DESCRIPTORS_NEAR, 1);
}

INLINE bool has_place(int fd)
{
    return is_near(fd) || ((unsigned)fd < DESCRIPTORS_MAX && atomic_load_explicit(&descriptor_far, memory_order_acquire) != NULL);
}

size_t descriptor_far_bytes(void)
{
    return FAR_BYTES;
}

/* Returns false if there is no memory. */
static __attribute__((noinline, cold)) bool map_far(void)
{
    void *memory = sparse_map(FAR_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (memory == MAP_FAILED)
        return false;
    /* A child of fork knows none of its descriptors and so counts nothing on its parent's lanes, however it was forked. */
    syscall(SYS_madvise, memory, FAR_BYTES, MADV_WIPEONFORK);
    if (!atomic_compare_exchange_strong(&descriptor_far, &(_Atomic descriptor *){ NULL }, memory))
        syscall(SYS_munmap, memory, FAR_BYTES); /* another thread was first */
    return true;
}

/* Returns false if the descriptor is beyond the table, or there is no memory for it. */
INLINE bool make_place(int fd)
{
    return has_place(fd) || ((unsigned)fd < DESCRIPTORS_MAX && map_far());
}

/* Only of descriptors that have a place. */
INLINE _Atomic descriptor *place_of(int fd)
{
    return is_near(fd) ? &lazy_start_page.near_words[fd] : &atomic_load_explicit(&descriptor_far, memory_order_acquire)[fd];
}

/* The id of the descriptor's file. It is right if the descriptor's word is still the same after the id was read. */
INLINE _Atomic uint64_t *id_of(int fd)
{
    if (is_near(fd))
        return &lazy_start_page.near_ids[fd];
    return (_Atomic uint64_t *)atomic_load_explicit(&descriptor_far, memory_order_acquire) + DESCRIPTORS_MAX + fd;
}

/* What was trusted of any descriptor is to be looked at again. After the change of the table that makes it so. */
INLINE void distrust(void)
{
    __atomic_fetch_add(&lazy_start_page.trust, TRUST_STEP, __ATOMIC_RELEASE);
}

void descriptor_trust(struct stream *stream, int fd)
{
    if (lazy_start_page.trust == 0)
        distrust();
    /* Read before the table is: a handler that changes the table after that has changed this too. */
    uint32_t trust = (uint32_t)(__atomic_load_n(&lazy_start_page.trust, __ATOMIC_ACQUIRE) >> TRUST_SHIFT);
    bool is_usual = stream->fd == fd && stream->usual == usual_word(descriptor_word(fd), LAYER_stdio);
    stream->trust = is_usual ? trust : NO_TRUST;
}

/* Only of descriptors that have a place. */
INLINE void change(int fd, descriptor word)
{
    bool was_known = atomic_load_explicit(place_of(fd), memory_order_relaxed) != 0;
    atomic_store_explicit(place_of(fd), word, memory_order_release);
    if (was_known)
        distrust();
}

INLINE void forget(int fd)
{
    if (has_place(fd))
        change(fd, 0);
}

void descriptor_forget_all(void)
{
    void *far = atomic_load(&descriptor_far);
    for (int fd = 0; fd < DESCRIPTORS_NEAR; fd++)
        forget(fd);
    if (far != NULL)
        syscall(SYS_madvise, far, FAR_BYTES, MADV_DONTNEED);
    distrust();
}

static descriptor word_of(uint32_t mount, enum object object, uint32_t file)
{
    uint32_t generation = atomic_fetch_add_explicit(&last_generation, 1, memory_order_relaxed) + 1;
    return (uint64_t)generation << 32 | (uint64_t)file << 16 | (uint64_t)object << 8 | DESCRIPTOR_KNOWN | mount;
}

#define GONE " (deleted)"

/* The answer is not on the stack, which may be a signal handler's small one. */
const char *descriptor_path(int fd)
{
    char *path = scratch.path;
    char link[] = "/proc/self/fd/\0         ", digits[10];
    char *end = link + strlen(link);
    unsigned count = 0, number = (unsigned)fd;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *end++ = digits[--count];
    *end = '\0';
    long length = raw_readlink(link, path, sizeof scratch.path - 1);
    path[length > 0 ? length : 0] = '\0';
    /* The kernel says so of every name that it has let go, which a network file system often does with files that live. */
    long name = length - (long)strlen(GONE);
    struct statx status;
    if (name > 0 && strcmp(path + name, GONE) == 0 && raw_statx_descriptor(fd, &status) == 0 && status.stx_nlink > 0 &&
        raw_statx(AT_FDCWD, path, 0, &status) < 0)
        path[name] = '\0';
    return path;
}

/* One that no call met before. `status` may be NULL. */
__attribute__((noinline)) static uint32_t enter_mount(enum object object, uint64_t device, const struct statx *status, int fd)
{
    uint64_t id = status != NULL ? status->stx_mnt_id : 0;
    uint32_t mount = MOUNT_NOT_KNOWN;
    struct held_lock held = lock_take(&engine.lock);
    if (object == OBJECT_file && status != NULL)
        mount = mount_enter_seen(&engine.home, status);
    if (mount == MOUNT_NOT_KNOWN)
        mount = mount_enter(&engine.home, object, device, id, object == OBJECT_file && fd >= 0 ? descriptor_path(fd) : NULL);
    lock_give(held);
    return mount;
}

uint32_t mount_of_device(enum object object, uint64_t device)
{
    uint32_t mount = mount_find(engine.home.segment, object, device);
    return mount != MOUNT_NOT_KNOWN ? mount : enter_mount(object, device, NULL, -1);
}

uint32_t mount_of_seen(enum object object, const struct statx *status, int fd)
{
    uint64_t device = makedev(status->stx_dev_major, status->stx_dev_minor);
    uint32_t mount = mount_find_seen(engine.home.segment, object, device, status->stx_mnt_id);
    return mount != MOUNT_NOT_KNOWN ? mount : enter_mount(object, device, status, fd);
}

/* A file is known by its inode, when that was made, and the name that it was opened by: inodes' numbers are used again at once, and not all file
 * systems tell when one was made. */
static uint64_t hash_of_inode(uint64_t hash, const struct statx *status)
{
    return mix(mix(hash, status->stx_ino), (uint64_t)status->stx_btime.tv_sec * 1000000000 + status->stx_btime.tv_nsec);
}

/* The name that a descriptor was opened by. */
struct name {
    const char *path; /* NULL: not known */
    size_t length;
    int dirfd;
};

/* 0: no name. */
static uint64_t hash_of_name(const struct name *name)
{
    struct statx status;
    if (name->path == NULL)
        return 0;
    uint64_t hash = mix_bytes(1, name->path, name->length);
    if (name->path[0] == '/')
        return hash;
    if (name->dirfd != AT_FDCWD)
        return mix(hash, descriptor_of(name->dirfd));
    if (raw_statx(AT_FDCWD, "", AT_EMPTY_PATH, &status) < 0)
        return 0;
    return mix(hash_of_inode(hash, &status), makedev(status.stx_dev_major, status.stx_dev_minor));
}

/* Never 0. Without a name the descriptor's generation tells one file from the next. */
static uint64_t file_id(descriptor word, const struct statx *status, uint64_t name)
{
    return mix(hash_of_inode(mix(name != 0 ? name : word >> 32, name != 0), status), descriptor_mount(word)) | 1;
}

static bool is_of_working_directory(const struct name *name)
{
    return name->path != NULL && (name->path[0] == '/' || name->dirfd == AT_FDCWD);
}

static descriptor classify(int fd, const struct name *name)
{
    struct statx status;
    if (fd < 0 || raw_statx_descriptor(fd, &status) < 0)
        return DESCRIPTOR_KNOWN | (uint64_t)FILE_NONE << 16 | MOUNT_OTHER;
    enum object object = object_of_mode(status.stx_mode);
    uint32_t mount = mount_of_seen(object, &status, fd);
    if (engine.home.segment->mounts[mount][mounts_object] != object)
        object = OBJECT_other;
    descriptor word = word_of(mount, object, object == OBJECT_file && S_ISREG(status.stx_mode) ? FILE_NOT_USED : FILE_NONE);
    if (!vfork_child_is_caller() && make_place(fd)) {
        if (descriptor_file(word) != FILE_NONE) {
            uint64_t id = file_id(word, &status, hash_of_name(name));
            atomic_store_explicit(id_of(fd), id, memory_order_relaxed);
            files_prefetch(engine.home.segment, id);
            if (is_of_working_directory(name))
                opened_note(word, &status, name->path, name->length);
        }
        change(fd, word);
    }
    return word;
}

descriptor descriptor_classify(int fd)
{
    return classify(fd, &(struct name){ NULL });
}

descriptor descriptor_opened(int fd, int dirfd, const char *path)
{
    return classify(fd, &(struct name){ path, path != NULL ? strlen(path) : 0, dirfd });
}

void descriptor_is_no_link(int fd)
{
    opened_is_no_link(descriptor_word(fd));
}

static bool is_of_file(const struct stream *stream)
{
    return stream->descriptor != 0 && stream->file != FILE_NONE;
}

static const char *name_of(const struct stream *stream)
{
    /* The word as it was before its file was used (stream_switch), as its thread has noted it. */
    const char *name = opened_name(stream->descriptor | (uint64_t)FILE_NOT_USED << 16);
    return name != NULL ? name : descriptor_path(stream->fd);
}

/* Gives the stream's file a row, if its descriptor is still open. Caller holds the lock. */
static void name_file(struct stream *stream)
{
    if (descriptor_word(stream->fd) == stream->descriptor)
        files_enter(&engine.home, stream, descriptor_mount(stream->descriptor), name_of(stream));
}

/* Gives the stream's file a row if it moved enough for one. `more` of a call that is about to be added to it. */
static void enter_if_worth(struct stream *stream, uint64_t more_bytes, uint64_t more_ns)
{
    struct segment *segment = engine.home.segment;
    if (stream->file != 0 || !files_is_worth(segment, stream, more_bytes, more_ns) || files_refer(segment, stream))
        return;
    struct held_lock held = lock_take(&engine.lock);
    name_file(stream);
    lock_give_keeping_signals(held);
}

/* Adds up what the stream counted. */
static void settle(struct lane *lane, struct stream *stream)
{
    if (!is_of_file(stream))
        return;
    stream_catch_up(stream);
    enter_if_worth(stream, 0, 0);
    files_add(&engine.home, lane, stream);
}

void descriptor_settle(struct thread *thread)
{
    for (unsigned s = 0; s < STREAMS; s++)
        settle(thread->lane, &thread->lane->streams[s]);
}

void descriptor_name_all(void)
{
    struct segment *segment = engine.home.segment;
    for (uint32_t i = 0; i < segment->lanes_used; i++)
        for (unsigned s = 0; s < STREAMS; s++) {
            struct stream *stream = &segment_lane(segment, i)->streams[s];
            /* Its owner may be counting: nothing is written to it. */
            uint64_t served_bytes = stream->served_bytes[KIND_read] + stream->served_bytes[KIND_write];
            if (is_of_file(stream) && stream->file == 0 && files_is_worth(segment, stream, served_bytes, 0))
                name_file(stream);
        }
}

/* Its last moment: the name can still be had. */
static void settle_closing(int fd, descriptor word)
{
    struct thread *thread = &thread_state;
    void *volatile frame;
    if (thread->lane == NULL)
        return;
    struct stream *stream = stream_of(thread->lane, fd);
    if (stream->descriptor != word || !is_of_file(stream) || !guard_begin(thread, &frame))
        return;
    stream_is_unusual(stream);
    settle(thread->lane, stream);
    stream->descriptor = 0;
    stream->file = 0;
    guard_end(thread);
}

descriptor descriptor_release(int fd)
{
    if ((unsigned)fd >= DESCRIPTORS_MAX)
        return 0;
    uint32_t state = atomic_load_explicit(engine_switch, memory_order_relaxed);
    if (state != ENGINE_ON)
        return state == ENGINE_UNSTARTED ? lazy_start_look(fd) : 0;
    if (thread_state.holds_lock) { /* lock.h: nothing may be looked up */
        forget(fd);
        return 0;
    }
    descriptor word = descriptor_of(fd);
    if (vfork_child_is_caller()) /* its descriptors are not the table's */
        return word;
    settle_closing(fd, word);
    forget(fd);
    return word;
}

static bool has_table(void)
{
    return atomic_load_explicit(engine_switch, memory_order_relaxed) == ENGINE_ON;
}

void descriptor_release_range(unsigned first, unsigned last)
{
    if (!has_table() || vfork_child_is_caller())
        return;
    const unsigned words_a_page = PAGE_BYTES / sizeof(descriptor);
    _Atomic descriptor *far = atomic_load_explicit(&descriptor_far, memory_order_acquire);
    unsigned known = far != NULL ? DESCRIPTORS_MAX : DESCRIPTORS_NEAR, end = last < known ? last + 1 : known, fd = first;
    for (; fd < end && fd < DESCRIPTORS_NEAR; fd++)
        forget((int)fd);
    /* To the end of the table by giving whole pages back: nearly all of them were never touched. */
    unsigned first_whole_page = (fd + words_a_page - 1) / words_a_page * words_a_page;
    if (end == DESCRIPTORS_MAX && first_whole_page < end) {
        syscall(SYS_madvise, far + first_whole_page, (end - first_whole_page) * sizeof(descriptor), MADV_DONTNEED);
        end = first_whole_page;
        distrust();
    }
    for (; fd < end; fd++)
        forget((int)fd);
}

void descriptor_copied(int from, int to)
{
    if (from == to || !has_table() || vfork_child_is_caller())
        return;
    descriptor word = descriptor_word(from);
    if (word == 0 || !make_place(to)) {
        forget(to);
        return;
    }
    atomic_store_explicit(id_of(to), atomic_load_explicit(id_of(from), memory_order_relaxed), memory_order_relaxed);
    change(to, word);
}

void stream_switch(struct lane *lane, struct stream *stream, int fd, descriptor word, uint64_t bytes, uint64_t ns)
{
    stream_is_unusual(stream); /* first: what is left half done (guard.h) is then begun anew */
    if (stream->descriptor != 0) {
        settle(lane, stream);
        stream->descriptor = 0;
    }
    bool is_file = descriptor_file(word) != FILE_NONE && has_place(fd) && !vfork_child_is_caller();
    memset(stream->counter, 0, sizeof stream->counter);
    memset(stream->served_bytes, 0, sizeof stream->served_bytes);
    if (is_file) {
        stream->id = atomic_load_explicit(id_of(fd), memory_order_relaxed);
        descriptor used = word & ~((uint64_t)FILE_NONE << 16);
        if (descriptor_file(word) == FILE_NOT_USED)
            stream->counter[FILE_SUM(files_opens)] = atomic_compare_exchange_strong(place_of(fd), &(descriptor){ word }, used);
        word = used;
    }
    stream->fd = fd;
    stream->file = is_file ? 0 : FILE_NONE;
    stream->is_absolute = 0;
    stream->position = 0;
    stream->last_end = NOTHING_TO_FOLLOW;
    atomic_signal_fence(memory_order_release);
    stream->descriptor = word;
    if (is_file)
        enter_if_worth(stream, bytes, ns);
}
