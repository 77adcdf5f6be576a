/* Numbers and texts mixed into one number, by which they are told apart and found. */
#ifndef SLICEWISE_MIX_H
#define SLICEWISE_MIX_H

#include <stdint.h>
#include <string.h>

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Eight bytes at a time; the last eight may overlap those before. */
static inline uint64_t mix_bytes(uint64_t hash, const char *text, size_t length)
{
    uint64_t word = 0;
    if (length < sizeof word) {
        memcpy(&word, text, length);
        return mix(mix(hash, word), length);
    }
    const char *last = text + length - sizeof word;
    for (; text < last; text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = mix(hash, word);
    }
    memcpy(&word, last, sizeof word);
    return mix(mix(hash, word), length);
}

static inline uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix_bytes(hash, text, strlen(text));
}

#endif
