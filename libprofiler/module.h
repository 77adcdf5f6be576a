/* Which file the code at an address is from, by /proc/self/maps: no lock of the loader's is taken. Guarded by the engine's lock. */
#ifndef SLICEWISE_MODULE_H
#define SLICEWISE_MODULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MODULES_MAX = 256, MODULE_PATH_BYTES = 256, BUILD_ID_BYTES = 32 };

struct module {
    uint64_t begin, end;          /* of its executable mapping */
    uint64_t bias;                /* added to the file's addresses */
    uint64_t table;               /* .eh_frame_hdr in memory; 0: none */
    uint64_t table_bytes;
    uint32_t build_id_bytes;
    unsigned char build_id[BUILD_ID_BYTES];
    char path[MODULE_PATH_BYTES]; /* empty: code that is in no file */
};

/* The module that an address is in; the maps are read anew where none is known. NULL: no code is there. Valid until the next call. */
const struct module *module_of(uint64_t address);

/* Reads the maps anew: a library that was closed may have made room for another. */
void module_refresh(void);

/* Set when a library is about to be opened: what is unknown afterwards may be its code. */
extern _Atomic bool module_is_opened;
void module_forget(void);

#endif
