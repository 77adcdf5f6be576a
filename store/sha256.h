/* SHA-256 and the message authentication code that is made of it (FIPS 180-4, RFC 2104). For coordination between jobs; no allocation, no libc
 * but memcpy, for any thread. */
#ifndef SLICEWISE_SHA256_H
#define SLICEWISE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t size, uint8_t digest[SHA256_BYTES]);
void hmac_sha256(const uint8_t key[SHA256_BYTES], const void *data, size_t size, uint8_t code[SHA256_BYTES]);

/* In a time that does not tell where they differ. */
bool sha256_is_same(const uint8_t one[SHA256_BYTES], const uint8_t other[SHA256_BYTES]);

#endif
