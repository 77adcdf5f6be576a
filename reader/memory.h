/* Zeroed memory of any size, for tables and for what is kept of frames. */
#ifndef SLICEWISE_READER_MEMORY_H
#define SLICEWISE_READER_MEMORY_H

#include <stddef.h>

/* Aligned to 16 bytes at least. Returns NULL if there is none. */
void *memory_zeroed(size_t bytes);

/* `bytes`: as it was asked for. */
void memory_free(void *memory, size_t bytes);

#endif
