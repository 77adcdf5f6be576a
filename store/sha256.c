#include "sha256.h"

#include <string.h>

enum { BLOCK_BYTES = 64 };

/* clang-format off */
static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
/* clang-format on */

struct state {
    uint32_t word[8];
    uint64_t bytes;
    uint8_t block[BLOCK_BYTES];
};

static uint32_t turn(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

static void mix(struct state *state)
{
    uint32_t w[64], v[8];
    const uint8_t *at = state->block;
    for (unsigned i = 0; i < 16; i++, at += 4)
        w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    for (unsigned i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, state->word, sizeof v);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + rounds[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        state->word[i] += v[i];
}

static void begin(struct state *state)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(state->word, first, sizeof first);
    state->bytes = 0;
}

static void add(struct state *state, const void *data, size_t size)
{
    const uint8_t *from = data;
    while (size > 0) {
        size_t filled = state->bytes % BLOCK_BYTES, room = BLOCK_BYTES - filled, taken = size < room ? size : room;
        memcpy(state->block + filled, from, taken);
        state->bytes += taken;
        from += taken;
        size -= taken;
        if (state->bytes % BLOCK_BYTES == 0)
            mix(state);
    }
}

static void finish(struct state *state, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t padding[BLOCK_BYTES] = { 0x80 };
    uint64_t bits = state->bytes * 8;
    uint8_t length[8];
    add(state, padding, 1 + (BLOCK_BYTES + 55 - state->bytes % BLOCK_BYTES) % BLOCK_BYTES);
    for (unsigned i = 0; i < sizeof length; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    add(state, length, sizeof length);
    for (unsigned i = 0; i < SHA256_BYTES; i++)
        digest[i] = (uint8_t)(state->word[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const void *data, size_t size, uint8_t digest[SHA256_BYTES])
{
    struct state state;
    begin(&state);
    add(&state, data, size);
    finish(&state, digest);
}

void hmac_sha256(const uint8_t key[SHA256_BYTES], const void *data, size_t size, uint8_t code[SHA256_BYTES])
{
    uint8_t pad[BLOCK_BYTES] = { 0 };
    struct state state;
    memcpy(pad, key, SHA256_BYTES);
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36;
    begin(&state);
    add(&state, pad, BLOCK_BYTES);
    add(&state, data, size);
    finish(&state, code);
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        pad[i] ^= 0x36 ^ 0x5c;
    begin(&state);
    add(&state, pad, BLOCK_BYTES);
    add(&state, code, SHA256_BYTES);
    finish(&state, code);
}

bool sha256_is_same(const uint8_t one[SHA256_BYTES], const uint8_t other[SHA256_BYTES])
{
    unsigned difference = 0;
    for (unsigned i = 0; i < SHA256_BYTES; i++)
        difference |= one[i] ^ other[i];
    return difference == 0;
}
