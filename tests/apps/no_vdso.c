/* A library that is preloaded behind ours: a kernel that maps no object of its own (vDSO) into programs. */
#include <link.h>
#include <stddef.h>

__attribute__((constructor)) static void forget_kernels_object(int count, char **arguments, char **environment)
{
    (void)count, (void)arguments;
    while (*environment++ != NULL)
        ;
    for (ElfW(auxv_t) *entry = (ElfW(auxv_t) *)environment; entry->a_type != AT_NULL; entry++)
        if (entry->a_type == AT_SYSINFO_EHDR)
            entry->a_type = AT_IGNORE;
}
