#include "text.h"

#include <stdlib.h>
#include <string.h>

/* A view's offset has 31 bits. */
#define FIRST_BUFFER_BYTES ((size_t)16 << 10)
#define MOST_BUFFER_BYTES ((size_t)64 << 20)
enum { FIRST_KNOWN = 256, INLINE_BYTES = 12 };
/* What stands for bytes that are no character: U+FFFD. */
static const unsigned char stand_in[] = { 0xef, 0xbf, 0xbd };

/* How many bytes the character at `at` has: positive if it is sound, else minus how many of them one U+FFFD stands for (the longest part
 * that some character begins with, or 1). */
static int character_bytes(const unsigned char *at, size_t left)
{
    unsigned lead = at[0], low = 0x80, high = 0xbf;
    int bytes = lead < 0x80 ? 1 : lead >= 0xc2 && lead <= 0xdf ? 2 : lead >= 0xe0 && lead <= 0xef ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : -1;
    low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : low;
    high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : high;
    for (int i = 1; i < bytes; i++, low = 0x80, high = 0xbf)
        if ((size_t)i >= left || at[i] < low || at[i] > high)
            return -i;
    return bytes;
}

static bool is_sound(const unsigned char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        int character = text[at] < 0x80 ? 1 : character_bytes(text + at, bytes - at);
        if (character < 0)
            return false;
        at += (size_t)character;
    }
    return true;
}

/* `into` has room for three times as many bytes. Returns how many it took. */
static size_t repair(const unsigned char *text, size_t bytes, unsigned char *into)
{
    size_t made = 0;
    for (size_t at = 0; at < bytes;) {
        int character = character_bytes(text + at, bytes - at);
        if (character > 0) {
            memcpy(into + made, text + at, (size_t)character);
            made += (size_t)character;
            at += (size_t)character;
        } else {
            memcpy(into + made, stand_in, sizeof stand_in);
            made += sizeof stand_in;
            at += (size_t)-character;
        }
    }
    return made;
}

static uint64_t hash_of(const unsigned char *text, size_t bytes)
{
    uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes, word;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text, bytes);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

static const unsigned char *text_of(const struct text_pool *pool, const struct arrow_view *view)
{
    return (const unsigned char *)pool->buffers[view->buffer] + view->offset;
}

/* Where the string is in the table of known ones, or would be. */
static struct arrow_view *find(const struct text_pool *pool, const unsigned char *text, size_t bytes)
{
    size_t mask = pool->known_room - 1, at = hash_of(text, bytes) & mask;
    while (pool->known[at].bytes != 0 && ((size_t)pool->known[at].bytes != bytes || memcmp(text_of(pool, &pool->known[at]), text, bytes) != 0))
        at = (at + 1) & mask;
    return &pool->known[at];
}

static bool grow_known(struct text_pool *pool)
{
    size_t room = pool->known_room, grown_room = room > 0 ? room * 2 : FIRST_KNOWN;
    struct arrow_view *known = pool->known, *grown = calloc(grown_room, sizeof *grown);
    if (grown == NULL)
        return false;
    pool->known = grown;
    pool->known_room = grown_room;
    for (size_t i = 0; i < room; i++)
        if (known[i].bytes != 0)
            *find(pool, text_of(pool, &known[i]), (size_t)known[i].bytes) = known[i];
    free(known);
    return true;
}

/* Room for so many bytes at the end of the last buffer, or in a new one. */
static bool make_room(struct text_pool *pool, size_t bytes, size_t *room_of_last)
{
    size_t used = pool->count > 0 ? (size_t)pool->bytes[pool->count - 1] : 0;
    size_t room = pool->count > 0 ? *room_of_last : 0;
    if (room - used >= bytes && pool->count > 0)
        return true;
    void **buffers = reallocarray(pool->buffers, pool->count + 1, sizeof *buffers);
    if (buffers != NULL)
        pool->buffers = buffers;
    int64_t *lengths = reallocarray(pool->bytes, pool->count + 1, sizeof *lengths);
    if (lengths != NULL)
        pool->bytes = lengths;
    if (buffers == NULL || lengths == NULL)
        return false;
    room = room == 0 ? FIRST_BUFFER_BYTES : room >= MOST_BUFFER_BYTES ? MOST_BUFFER_BYTES : room * 4;
    room = room < bytes ? bytes : room;
    if ((buffers[pool->count] = malloc(room)) == NULL)
        return false;
    lengths[pool->count++] = 0;
    *room_of_last = room;
    return true;
}

static bool add_sound(struct text_pool *pool, const unsigned char *text, size_t bytes, struct arrow_view *view)
{
    *view = (struct arrow_view){ .bytes = (int32_t)bytes };
    if (bytes <= INLINE_BYTES) {
        memcpy(view->text, text, bytes);
        return true;
    }
    if (pool->known_count * 2 >= pool->known_room && !grow_known(pool))
        return false;
    struct arrow_view *known = find(pool, text, bytes);
    if (known->bytes == 0) {
        if (!make_room(pool, bytes, &pool->room))
            return false;
        memcpy(view->prefix, text, sizeof view->prefix);
        view->buffer = (int32_t)pool->count - 1;
        view->offset = (int32_t)pool->bytes[pool->count - 1];
        memcpy((unsigned char *)pool->buffers[view->buffer] + view->offset, text, bytes);
        pool->bytes[pool->count - 1] += (int64_t)bytes;
        *known = *view;
        pool->known_count++;
    }
    *view = *known;
    return true;
}

bool text_add(struct text_pool *pool, const unsigned char *text, size_t bytes, struct arrow_view *view)
{
    if (is_sound(text, bytes))
        return add_sound(pool, text, bytes, view);
    unsigned char *repaired = malloc(3 * bytes);
    bool is_added = repaired != NULL && add_sound(pool, repaired, repair(text, bytes, repaired), view);
    free(repaired);
    return is_added;
}

void text_free(struct text_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        free(pool->buffers[i]);
    free(pool->buffers);
    free(pool->bytes);
    free(pool->known);
    *pool = (struct text_pool){ 0 };
}
