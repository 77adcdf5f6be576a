/* See environment.c. What most wrappers need of it is in engine.h. */
#ifndef SLICEWISE_ENVIRONMENT_H
#define SLICEWISE_ENVIRONMENT_H

#include "engine.h"

/* The kernel refuses an environment that cannot be read; until then it is none of our business. May change errno. */
bool environment_is_readable(char *const *envp);

/* Our children belong to the same job. */
void environment_name_job(const char *job);

/* Takes note of what is to be carried on, as the environment is now. */
void environment_start(void);

/* From now on what is started is told not to profile itself. */
void environment_stand_down(void);

/* The calling thread goes on after a child that ran as it, and that may have left memory behind. */
void environment_vfork_end(void);

/* Whether a shell with that command may find no room for the environment. */
bool environment_fills_room(char *const *envp, const char *command);

/* Whether no other thread can look at the environment. */
bool environment_is_one_threads(void);

enum { COMMAND_BYTES = 128 << 10 }; /* the kernel takes no longer argument */

/* For what libc runs by the shell in the program's own environment: the command with what `envp` (environment_carried's) has and `environ` lacks,
 * or the command itself, where nothing is lacking or there is no room for the whole. `environment_command_end` gives back the room. */
const char *environment_command(char *const *envp, const char *command);
void environment_command_end(const char *made, const char *command);

#endif
