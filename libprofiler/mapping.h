/* Which files are mapped where, by the address at which a mapping begins: what munmap and msync are told no descriptor of. A table of fixed
 * size; what does not fit counts as on no known mount. A child of fork inherits it with the mappings, so its words are of call_inherited. For any
 * thread, without a lock. */
#ifndef SLICEWISE_MAPPING_H
#define SLICEWISE_MAPPING_H

#include "engine.h"

void mapping_enter(const void *address, descriptor word);

/* What is mapped there; 0: nothing that is known. `mapping_leave` forgets it. */
descriptor mapping_word(const void *address);
descriptor mapping_leave(const void *address);

#endif
