/* Memory of the program's that nobody has shown to be readable: what a call that failed was given, and what a call is about to be given. A
 * load of ours would crash where the kernel says EFAULT. For any thread; takes no lock, allocates nothing, leaves errno alone. */
#ifndef SLICEWISE_PEEK_H
#define SLICEWISE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEEK_PAGE_BYTES = 4096 /* pages may be larger */ };

/* Copies as much as can be read from `address` on: up to a page that cannot be read. Returns how many bytes. */
size_t peek_most(uint64_t address, void *to, size_t bytes);

/* Copies all of it. Returns false where it cannot all be read. */
bool peek(uint64_t address, void *to, size_t bytes);

/* The same of an object. */
#define PEEK(pointer, object) peek((uintptr_t)(pointer), (object), sizeof *(object))

/* Copies a text with its 0. Returns its length, or -1 where it does not end in readable memory or has no end within `room` bytes. */
long peek_text(const char *text, char *to, size_t room);

/* Whether memory can be read now, at a fifth of the cost of a copy, and where a sandbox forbids copies. Only a copy is safe from other
 * threads that unmap: so this is for what the program hands to a call that will read it as well. */
struct peek_pages {
    uintptr_t readable[4]; /* the last ones that were */
    unsigned next;
};
bool peek_can_read(struct peek_pages *pages, const void *address, size_t bytes);

/* The length of a text, or -1 where it does not end in readable memory. */
long peek_length(struct peek_pages *pages, const char *text);

#endif
