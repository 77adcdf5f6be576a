/* The way back: what the analyzer writes into profiles (imported logs, rows of launches), packed. It belongs to no reading. */
#include "reader.h"

#include <zstd.h>

uint64_t slicewise_reader_pack_bound(uint64_t bytes)
{
    return ZSTD_compressBound(bytes);
}

uint64_t slicewise_reader_pack(void *to, uint64_t room, const void *from, uint64_t bytes, int level)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (context == NULL)
        return 0;
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t packed = ZSTD_compress2(context, to, room, from, bytes);
    ZSTD_freeCCtx(context);
    return ZSTD_isError(packed) ? 0 : packed;
}
