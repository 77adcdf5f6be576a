/* From envelope to envelope, past damage, and from a zstd frame to its payload. */
#define ZSTD_STATIC_LINKING_ONLY
#include "inside.h"

#include "format.h"

#include <string.h>

enum { CRC_TABLES = 8 };
static uint32_t crc_tables[CRC_TABLES][256];
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

static void fill_crc_tables(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
        crc_tables[0][byte] = crc;
    }
    for (unsigned table = 1; table < CRC_TABLES; table++)
        for (unsigned byte = 0; byte < 256; byte++)
            crc_tables[table][byte] = (crc_tables[table - 1][byte] >> 8) ^ crc_tables[0][crc_tables[table - 1][byte] & 0xff];
}

void unpack_prepare(void)
{
    pthread_once(&crc_once, fill_crc_tables);
}

/* format_crc32, eight bytes at a time. */
uint32_t unpack_crc32(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint32_t crc = 0xffffffffu;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        word ^= crc;
        crc = 0;
        for (unsigned i = 0; i < CRC_TABLES; i++)
            crc ^= crc_tables[CRC_TABLES - 1 - i][(word >> (8 * i)) & 0xff];
    }
    for (; size > 0; size--, at++)
        crc = (crc >> 8) ^ crc_tables[0][(crc ^ *at) & 0xff];
    return ~crc;
}

bool unpack_envelope(const unsigned char *bytes, size_t size, size_t at, struct format_envelope *envelope)
{
    if (size < sizeof *envelope || at > size - sizeof *envelope)
        return false;
    memcpy(envelope, bytes + at, sizeof *envelope);
    return envelope->magic == FORMAT_ENVELOPE_MAGIC && envelope->skipped_bytes == sizeof *envelope - 8 &&
           envelope->marker == FORMAT_ENVELOPE_MARKER && unpack_crc32(envelope, offsetof(struct format_envelope, crc)) == envelope->crc;
}

size_t unpack_next_envelope(const unsigned char *bytes, size_t size, size_t begin)
{
    static const uint32_t mark[] = { FORMAT_ENVELOPE_MAGIC, sizeof(struct format_envelope) - 8, FORMAT_ENVELOPE_MARKER };
    struct format_envelope envelope;
    while (begin < size) {
        const unsigned char *found = memmem(bytes + begin, size - begin, mark, sizeof mark);
        if (found == NULL)
            break;
        if (unpack_envelope(bytes, size, (size_t)(found - bytes), &envelope))
            return (size_t)(found - bytes);
        begin = (size_t)(found - bytes) + 1;
    }
    return size;
}

const unsigned char *unpack_payload(struct worker *worker, const unsigned char *packed, size_t packed_bytes, size_t *payload_bytes)
{
    ZSTD_frameHeader header;
    if (ZSTD_getFrameHeader(&header, packed, packed_bytes) != 0 || header.frameType != ZSTD_frame || !header.checksumFlag ||
        ZSTD_findFrameCompressedSize(packed, packed_bytes) != packed_bytes)
        return NULL;
    unsigned long long most = header.frameContentSize;
    if (most == ZSTD_CONTENTSIZE_UNKNOWN) {
        most = ZSTD_decompressBound(packed, packed_bytes);
        most = most > MOST_PAYLOAD_BYTES ? MOST_PAYLOAD_BYTES : most; /* what unpacks to more is then an error */
    }
    if (most > MOST_PAYLOAD_BYTES)
        return NULL;
    if (worker->unpacker == NULL)
        worker->unpacker = ZSTD_createDCtx();
    void *payload = scratch_take(&worker->payload, (size_t)most);
    if (worker->unpacker == NULL || payload == NULL) {
        worker->reader->is_out_of_memory = true;
        return NULL;
    }
    *payload_bytes = ZSTD_decompressDCtx(worker->unpacker, payload, (size_t)most, packed, packed_bytes);
    return ZSTD_isError(*payload_bytes) ? NULL : payload;
}
