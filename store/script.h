/* What an interpreter runs: its program alone does not say which of a user's scripts a process is. */
#ifndef SLICEWISE_SCRIPT_H
#define SLICEWISE_SCRIPT_H

#include <stddef.h>

/* The script, module, class or archive that this process runs, as its command line names it; of code on the command line its option and some
 * digits that stand for it. Empty: `program` (a path) is no interpreter that we know, or it runs nothing that is named. */
void script_of_process(const char *program, char *script, size_t room);

/* The same of a command line as the kernel has it: `bytes` of arguments, each with a 0 behind it. */
void script_of_arguments(const char *program, const char *arguments, size_t bytes, char *script, size_t room);

#endif
