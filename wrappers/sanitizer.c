/* AddressSanitizer's runtime, where it is a shared library, ends every program in which another library was loaded before it. It asks the
 * program for its options first, by a function of this name, and the first definition is ours. A program's own definition comes before
 * ours, and then the program needs ASAN_OPTIONS=verify_asan_link_order=0. */
#include "interpose.h"
#include "symbol.h"
#include "text.h"

#include <string.h>
#include <sys/mman.h>

#define LATER_THAN_US "verify_asan_link_order=0"

EXPORT const char *__asan_default_options(void); // NOLINT(bugprone-reserved-identifier)

/* Called once, before the program's first constructor. What the next definition says is kept; of two values for one option the last one holds. */
EXPORT const char *__asan_default_options(void) // NOLINT(bugprone-reserved-identifier)
{
    const char *(*next)(void) = (const char *(*)(void))symbol_next("__asan_default_options").address;
    const char *theirs = next != NULL ? next() : NULL;
    size_t length = theirs != NULL ? strlen(theirs) : 0;
    if (length == 0)
        return LATER_THAN_US;
    char *both = (char *)syscall(SYS_mmap, NULL, length + sizeof ":" LATER_THAN_US, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED)
        return LATER_THAN_US;
    char *end = both + length + sizeof ":" LATER_THAN_US;
    text_put(text_put(both, end, theirs), end, ":" LATER_THAN_US);
    return both;
}
