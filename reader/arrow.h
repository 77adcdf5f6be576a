/* Arrow's C data interface, as its specification declares it (https://arrow.apache.org/docs/format/CDataInterface.html), and the making of
 * the struct array that a table becomes. */
#ifndef SLICEWISE_READER_ARROW_H
#define SLICEWISE_READER_ARROW_H

#include <stddef.h>
#include <stdint.h>

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/* A string of a string view array: 12 bytes lie in the view itself, of longer ones the first four. */
struct arrow_view {
    int32_t bytes;
    union {
        char text[12];
        struct {
            char prefix[4];
            int32_t buffer, offset;
        };
    };
};
_Static_assert(sizeof(struct arrow_view) == 16, "a view has 16 bytes");

/* One column as it is made: all that it points to becomes the array's. values: of memory_zeroed; texts: the buffers that views point into,
 * malloc's. */
struct arrow_column {
    const char *format, *name;
    void *values;
    size_t value_bytes;
    void **texts;
    int64_t *text_bytes;
    size_t text_count;
};

/* Gives all columns away to the two structs, or, where there is no memory, frees them. Returns 0 or -ENOMEM. */
int arrow_export(struct arrow_column *columns, size_t count, int64_t rows, struct ArrowSchema *schema, struct ArrowArray *array);

void arrow_free(struct arrow_column *column);

#endif
