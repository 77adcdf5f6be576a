/* The word that says what a descriptor leads to: generation (32 bits), file (16), object (8), known (1), mount (7, of which 6 are used). */
#ifndef SLICEWISE_DESCRIPTOR_H
#define SLICEWISE_DESCRIPTOR_H

#include "engine.h"
#include "lend.h"
#include "state.h"

enum {
    DESCRIPTORS_MAX = 1 << 20,
    DESCRIPTOR_KNOWN = 0x80,
    DESCRIPTOR_LAYER_SHIFT = 12, /* the object takes four of its eight bits */
    FILE_NONE = 0xffff,           /* not a file */
    FILE_NOT_LOOKED_UP = 0xfffe,  /* a file whose path is looked up when it first moves bytes */
};

extern _Atomic descriptor *descriptor_table HIDDEN;

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
    if (__builtin_expect((unsigned)fd < DESCRIPTORS_MAX, 1) && !lend_is_child()) {
        descriptor word = atomic_load_explicit(&descriptor_table[fd], memory_order_relaxed);
        if (__builtin_expect(word != 0, 1))
            return word;
    }
    return descriptor_classify(fd);
}

/* The mount of an object on a device; `fd` (or -1) helps to find out which it is. */
uint32_t mount_of_device(enum object object, uint64_t device, int fd);

#endif
