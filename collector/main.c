/* slicewise-collect: what runs beside the applications. Today: `recover`, and `look` for the launcher. */
#include "recover.h"

#include "format.h"
#include "program.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out)
{
    fprintf(out, "usage: slicewise-collect recover [JOBDIR]\n"
                 "       slicewise-collect look COMMAND\n"
                 "       slicewise-collect --version\n"
                 "recover: finishes the segments of processes that are gone, so that their profiles are whole;\n"
                 "         with JOBDIR only those whose profile lies there\n"
                 "look:    prints why COMMAND cannot be profiled (`unknown`: it can, as far as can be told), and its executable\n");
    return out == stdout ? 0 : 2;
}

static const char *const reasons[] = {
#define REASON(name, meaning) #name,
#include "enums.def"
};

static int look(const char *command)
{
    static struct program program;
    program_look_for(&program, command);
    printf("%s %s\n", reasons[program.reason], program.path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("slicewise-collect %s\n", SLICEWISE_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return usage(stdout);
    if ((argc == 2 || argc == 3) && strcmp(argv[1], "recover") == 0)
        return recover(argc == 3 ? argv[2] : NULL);
    if (argc == 3 && strcmp(argv[1], "look") == 0)
        return look(argv[2]);
    return usage(stderr);
}
