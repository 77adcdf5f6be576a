/* Regions of a program (epochs, checkpoints, batches), for its profile: what each took, transferred, waited for, and lost to other jobs.
 *
 *     uint64_t region = slicewise_region_begin("checkpoint");
 *     write_checkpoint();
 *     slicewise_region_end(region);
 *
 * All of it is in this header: nothing is to be linked, but for -ldl before glibc 2.34. Where the program is not profiled the calls do nothing.
 * Regions nest, each in its thread. The end of one ends those within it too, which longjmp or an exception may have left; in C++ `slicewise::region`
 * ends with its scope. A forked child has none of its parent's regions. For any thread, not for signal handlers; errno stays as it is. */
#ifndef SLICEWISE_REGION_API_H
#define SLICEWISE_REGION_API_H

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

/* The profiler's function of this name, which is looked for once in each source file; NULL: the program is not profiled. */
static inline void *slicewise_region_function(void **known, const char *name)
{
    void *found = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (found == NULL) {
        int saved_errno = errno;
        found = dlsym((void *)0, name); /* RTLD_DEFAULT */
        errno = saved_errno;
        __atomic_store_n(known, found != NULL ? found : (void *)known, __ATOMIC_RELAXED);
    }
    return found != (void *)known ? found : NULL;
}

static inline uint64_t slicewise_region_begin(const char *name)
{
    static void *known;
    uint64_t (*begin)(const char *);
    void *found = slicewise_region_function(&known, "slicewise_region_begin");
    memcpy(&begin, &found, sizeof begin);
    return found != NULL ? begin(name) : 0;
}

static inline void slicewise_region_end(uint64_t region)
{
    static void *known;
    void (*end)(uint64_t);
    void *found = region != 0 ? slicewise_region_function(&known, "slicewise_region_end") : NULL;
    memcpy(&end, &found, sizeof end);
    if (found != NULL)
        end(region);
}

#ifdef __cplusplus
namespace slicewise
{
class region
{
  public:
    explicit region(const char *name) : token(slicewise_region_begin(name))
    {
    }
    ~region()
    {
        slicewise_region_end(token);
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

  private:
    uint64_t token;
};
} // namespace slicewise
#endif

#endif
