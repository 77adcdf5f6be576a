/* Opens the library argv[1] while it runs, has it write, closes it (its destructor writes), and writes itself. -DPLUG_IN makes the library. */
#define PUT_INTO "plug_in"
#include "scenario.h"

#include <dlfcn.h>

#ifdef PLUG_IN
void plug_in(void);
void plug_in(void)
{
    put(10);
}

__attribute__((destructor)) static void unload(void)
{
    put(200);
}
#else
int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    ((void (*)(void))dlsym(library, "plug_in"))();
    REQUIRE(dlclose(library) == 0);
    put(3000);
    return 0;
}
#endif
