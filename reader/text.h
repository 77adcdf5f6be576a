/* Strings as Arrow's string views: sound UTF-8, and equal long ones kept once. */
#ifndef SLICEWISE_READER_TEXT_H
#define SLICEWISE_READER_TEXT_H

#include "arrow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_pool {
    void **buffers;
    int64_t *bytes; /* of each buffer that are used */
    size_t count, room;
    struct arrow_view *known; /* a hash table of the views of long strings */
    size_t known_count, known_room;
};

/* The view of a string, whose bytes may be anything: what is no UTF-8 is replaced by U+FFFD, as Python's decoder does. False if there is
 * no memory. */
bool text_add(struct text_pool *pool, const unsigned char *text, size_t bytes, struct arrow_view *view);

void text_free(struct text_pool *pool);

#endif
