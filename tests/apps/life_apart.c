/* Opens the library argv[1] in ways that bind it past what is preloaded (argv[2]: deep, apart), has it write, and writes itself. Its bytes
 * may go unseen; nothing else may happen. */
#include "scenario.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    static const char block[3000];
    REQUIRE(argc == 3);
    void *library = strcmp(argv[2], "deep") == 0 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    REQUIRE(library != NULL);
    ((void (*)(void))dlsym(library, "plug_in"))();
    REQUIRE(dlclose(library) == 0);
    int fd = open("plug_in", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, sizeof block) == sizeof block && close(fd) == 0);
    return 0;
}
