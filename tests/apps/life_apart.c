/* Opens the library argv[1] in ways that bind it past what is preloaded (argv[2]: deep, apart, both), or as any other (near); has it write,
 * and writes itself. Its bytes may go unseen; nothing else may happen. */
#include "scenario.h"

#include <dlfcn.h>
#include <stdbool.h>

int main(int argc, char **argv)
{
    static const char block[3000];
    REQUIRE(argc == 3);
    bool is_apart = strcmp(argv[2], "apart") == 0 || strcmp(argv[2], "both") == 0;
    int mode = RTLD_NOW | (strcmp(argv[2], "deep") == 0 || strcmp(argv[2], "both") == 0 ? RTLD_DEEPBIND : 0);
    void *library = is_apart ? dlmopen(LM_ID_NEWLM, argv[1], mode) : dlopen(argv[1], mode);
    REQUIRE(library != NULL);
    REQUIRE(dlopen("nonesuch", RTLD_NOW) == NULL && strstr(dlerror(), "nonesuch") != NULL);
    ((void (*)(void))dlsym(library, "plug_in"))();
    REQUIRE(dlclose(library) == 0);
    int fd = open("plug_in", O_WRONLY | O_CREAT | O_APPEND, 0600);
    REQUIRE(fd >= 0 && write(fd, block, sizeof block) == sizeof block && close(fd) == 0);
    return 0;
}
