/* The bytes of the profile format (docs/format.md): constants, the envelope, the checksum. Pure functions of their arguments, for
 * any thread and any process; needs nothing but the compiler. */
#ifndef SLICEWISE_FORMAT_H
#define SLICEWISE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define SLICEWISE_VERSION "2.0.0"
#define FORMAT_VERSION 1

#define FORMAT_ENVELOPE_MAGIC 0x184D2A53u
#define FORMAT_ENVELOPE_MARKER 0x315A5753u /* "SWZ1" */

enum format_flags { FORMAT_LAST_FRAME = 1, FORMAT_RECOVERED = 2 };

struct format_envelope {
    uint32_t magic;
    uint32_t skipped_bytes;
    uint32_t marker;
    uint32_t frame_number;
    uint64_t process;
    uint32_t packed_bytes;
    uint32_t schema;
    uint32_t flags;
    uint32_t crc;
};
_Static_assert(sizeof(struct format_envelope) == 40, "the envelope is 40 bytes without holes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian and is written as it lies in memory");

/* How a column of numbers is laid out: the low bits are bytes a value, the high bit says that a base precedes them. */
enum { FORMAT_WIDTH_MASK = 0x0f, FORMAT_HAS_BASE = 0x80 };

/* CRC-32 (IEEE 802.3), four bits at a time: it only ever sees envelopes and, at build time, the schema. */
static inline uint32_t format_crc32(const void *bytes, size_t size)
{
    static const uint32_t of_four_bits[16] = { 0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                               0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c };
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= ((const uint8_t *)bytes)[i];
        crc = crc >> 4 ^ of_four_bits[crc & 15];
        crc = crc >> 4 ^ of_four_bits[crc & 15];
    }
    return ~crc;
}

static inline void format_envelope_fill(struct format_envelope *envelope, uint64_t process, uint32_t frame_number, uint32_t packed_bytes,
                                        uint32_t schema, uint32_t flags)
{
    *envelope = (struct format_envelope){
        .magic = FORMAT_ENVELOPE_MAGIC,
        .skipped_bytes = sizeof *envelope - 8,
        .marker = FORMAT_ENVELOPE_MARKER,
        .frame_number = frame_number,
        .process = process,
        .packed_bytes = packed_bytes,
        .schema = schema,
        .flags = flags,
    };
    envelope->crc = format_crc32(envelope, offsetof(struct format_envelope, crc));
}

#endif
