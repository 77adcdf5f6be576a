/* A preloaded library whose function `clock_of_kernel` is the kernel's clock to those who look for the kernel's object (vDSO) where the kernel says
 * that it is: the library puts itself in its place. So its constructor must run first: it is preloaded behind them. */
#include <link.h>
#include <time.h>

#if defined(__x86_64__)
#define clock_of_kernel __vdso_clock_gettime
#else
#define clock_of_kernel __kernel_clock_gettime
#endif

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
__attribute__((visibility("default"))) int clock_of_kernel(clockid_t id, struct timespec *now);

__attribute__((constructor)) static void become_kernels_object(int count, char **arguments, char **environment)
{
    (void)count, (void)arguments;
    while (*environment++ != NULL)
        ;
    for (ElfW(auxv_t) *entry = (ElfW(auxv_t) *)environment; entry->a_type != AT_NULL; entry++)
        if (entry->a_type == AT_SYSINFO_EHDR)
            entry->a_un.a_val = (uintptr_t)&__ehdr_start;
}
