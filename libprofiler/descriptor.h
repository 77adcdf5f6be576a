/* The word that says what a descriptor leads to: generation (32 bits), file (16), object (8), known (1), mount (7, of which 6 are used). */
#ifndef SLICEWISE_DESCRIPTOR_H
#define SLICEWISE_DESCRIPTOR_H

#include "call.h"
#include "lazy_start.h"
#include "state.h"
#include "vfork_child.h"

enum {
    DESCRIPTORS_MAX = 1 << 20,
    DESCRIPTOR_KNOWN = 0x80,
    DESCRIPTOR_LAYER_SHIFT = 12, /* the object takes four of its eight bits */
    FILE_NOT_USED = 0xfffe, /* a file that has not moved bytes yet */
};

/* The words of all descriptors, of which those on the page of lazy_start.h are not used; NULL: none of the others was met. */
extern _Atomic descriptor *_Atomic descriptor_far HIDDEN;
size_t descriptor_far_bytes(void);

/* The table of descriptors: forgets all that it knows; finds out what an unknown one leads to. */
void descriptor_forget_all(void);
descriptor descriptor_classify(int fd);

/* The word as it is noted, or 0. */
static inline descriptor descriptor_word(int fd)
{
    if (__builtin_expect((unsigned)fd < DESCRIPTORS_NEAR, 1))
        return atomic_load_explicit(&lazy_start_page.near_words[fd], memory_order_relaxed);
    const _Atomic descriptor *far = atomic_load_explicit(&descriptor_far, memory_order_acquire);
    return far != NULL && (unsigned)fd < DESCRIPTORS_MAX ? atomic_load_explicit(&far[fd], memory_order_relaxed) : 0;
}

/* Whether the stream is still what the table says of the descriptor, in the layer stdio and the thread's open slice. For a thread that is alone
 * in its process: it looked itself, and nobody else changes the table unseen. */
static inline bool descriptor_is_trusted(const struct stream *stream, int fd)
{
    return stream->trusted == (lazy_start_page.trust | (unsigned)fd);
}

/* Looks whether that is so. The guard is set. */
void descriptor_trust(struct stream *stream, int fd);

static inline uint32_t descriptor_mount(descriptor word)
{
    return word & (MOUNTS_MAX - 1);
}

static inline uint32_t descriptor_file(descriptor word)
{
    return word >> 16 & 0xffff;
}

static inline descriptor descriptor_of(int fd)
{
    if (!vfork_child_is_caller()) {
        descriptor word = descriptor_word(fd);
        if (__builtin_expect(word != 0, 1))
            return word;
    }
    return descriptor_classify(fd);
}

/* What was opened by a name (relative to `dirfd`; NULL: not known). */
descriptor descriptor_opened(int fd, int dirfd, const char *path);
/* It has just been opened, by a name that is no link: else the open would have failed. */
void descriptor_is_no_link(int fd);

/* Gives rows to files that moved enough for one, while their names can still be had: of the thread's lane; of all lanes (caller holds the lock). */
void descriptor_settle(struct thread *thread);
void descriptor_name_all(void);

/* The path of what a descriptor is of, as the kernel names it. Caller holds the lock, which guards the answer too. */
const char *descriptor_path(int fd);

/* The mount of an object on a device; of one that raw_statx looked at, of which `fd` (or -1) is a descriptor. */
uint32_t mount_of_device(enum object object, uint64_t device);
uint32_t mount_of_seen(enum object object, const struct statx *status, int fd);

/* A lane's place for a descriptor that it last used for another one. */
void stream_switch(struct lane *lane, struct stream *stream, int fd, descriptor descriptor, uint64_t bytes, uint64_t ns);

#endif
