/* What a process was asked to do: its program alone does not say which of a user's scripts it is, nor of what size. */
#ifndef SLICEWISE_COMMAND_H
#define SLICEWISE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum { COMMAND_BYTES = 512, ARGUMENTS_BYTES = 4096, INPUTS_BYTES = 16 };

struct command {
    /* The script, module, class or archive that an interpreter runs, as its command line names it; of code on the command line its option and
     * some digits that stand for it. Empty: the program is no interpreter that we know, or it runs nothing that is named. */
    char script[COMMAND_BYTES];
    /* The command line as a shell would take it, with digits for code and dots for what is secret, and at its end where it is cut. */
    char line[COMMAND_BYTES];
};

/* A command, and room to read it in. */
struct command_read {
    struct command command;
    char arguments[ARGUMENTS_BYTES];
};

/* Notes where the kernel has put this process's command line, as its constructors learn it. */
void command_note(int count, char *const *arguments);

/* This process's. program: a path. has_base_names: the line has of paths the last part alone. inputs: what the files stand for that it names, of
 * INPUTS_BYTES at most, as a comment behind the line; empty: not known. */
void command_of_process(const char *program, bool has_base_names, const char *inputs, struct command_read *read);

/* The same of a command line as the kernel has it: `bytes` of arguments, each with a 0 behind it. If the last one is cut, a 0
 * is behind all. */
void command_of_arguments(const char *program, const char *arguments, size_t bytes, bool has_base_names, struct command *command);

#endif
