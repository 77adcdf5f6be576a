/* What the library takes of zstd, for a processor that no zstd is there for: frames whose blocks are stored as they are. Any zstd reads them. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 1 << 17, HEAD = 13, BLOCK_HEAD = 3, CHECKSUM = 4 };
struct parameters {
    unsigned values[7];
};

void *ZSTD_initStaticCCtx(void *room, size_t bytes)
{
    return bytes > 0 ? room : NULL;
}

size_t ZSTD_CCtx_setParameter(void *context, int parameter, int value)
{
    (void)context, (void)parameter, (void)value;
    return 0;
}

size_t ZSTD_estimateCCtxSize_usingCParams(struct parameters parameters)
{
    (void)parameters;
    return 64;
}

unsigned ZSTD_isError(size_t code)
{
    return code == SIZE_MAX;
}

size_t ZSTD_compressBound(size_t bytes)
{
    return HEAD + BLOCK_HEAD * (bytes / BLOCK + 1) + bytes + CHECKSUM;
}

static const uint64_t prime[] = { 0, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5 };

static uint64_t rotated(uint64_t word, int by)
{
    return word << by | word >> (64 - by);
}

static uint64_t word_at(const unsigned char *at, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, at, bytes);
    return word;
}

static uint64_t mixed(uint64_t sum, uint64_t word)
{
    return rotated(sum + word * prime[2], 31) * prime[1];
}

/* The hash XXH64, by its specification. */
unsigned long long ZSTD_XXH64(const void *input, size_t bytes, unsigned long long seed)
{
    const unsigned char *at = input, *end = at + bytes;
    uint64_t hash = seed + prime[5];
    if (bytes >= 32) {
        uint64_t lane[4] = { seed + prime[1] + prime[2], seed + prime[2], seed, seed - prime[1] };
        for (; end - at >= 32; at += 32)
            for (int i = 0; i < 4; i++)
                lane[i] = mixed(lane[i], word_at(at + 8 * i, 8));
        hash = rotated(lane[0], 1) + rotated(lane[1], 7) + rotated(lane[2], 12) + rotated(lane[3], 18);
        for (int i = 0; i < 4; i++)
            hash = (hash ^ mixed(0, lane[i])) * prime[1] + prime[4];
    }
    hash += bytes;
    for (; end - at >= 8; at += 8)
        hash = rotated(hash ^ mixed(0, word_at(at, 8)), 27) * prime[1] + prime[4];
    for (; end - at >= 4; at += 4)
        hash = rotated(hash ^ word_at(at, 4) * prime[1], 23) * prime[2] + prime[3];
    for (; at < end; at++)
        hash = rotated(hash ^ *at * prime[5], 11) * prime[1];
    hash = (hash ^ hash >> 33) * prime[2];
    hash = (hash ^ hash >> 29) * prime[3];
    return hash ^ hash >> 32;
}

static unsigned char *put(unsigned char *to, uint64_t value, size_t bytes)
{
    memcpy(to, &value, bytes);
    return to + bytes;
}

size_t ZSTD_compress2(void *context, void *frame, size_t room, const void *payload, size_t bytes)
{
    (void)context;
    if (room < ZSTD_compressBound(bytes))
        return SIZE_MAX;
    unsigned char *to = put(frame, 0xFD2FB528, 4);
    to = put(to, 0xE4, 1); /* the size has 8 bytes, there is one segment, and a checksum follows */
    to = put(to, bytes, 8);
    const unsigned char *from = payload;
    for (size_t left = bytes, block = 0, is_last = 0; !is_last; left -= block) {
        is_last = left <= BLOCK;
        block = is_last ? left : BLOCK;
        to = put(to, block << 3 | is_last, BLOCK_HEAD);
        memcpy(to, from, block);
        to += block;
        from += block;
    }
    return (size_t)(put(to, ZSTD_XXH64(payload, bytes, 0), CHECKSUM) - (unsigned char *)frame);
}
