/* What the kernel counted of a command that `slicewise run` began, as a row of `launches` in the node's profile. */
#ifndef SLICEWISE_LAUNCHED_H
#define SLICEWISE_LAUNCHED_H

/* `arguments`: the command's process id, how many of its bytes are the profile itself, bytes read, bytes written, reads, writes, when it began and ended, and
 * the command line, `count` in all.
 * The job is named by the environment. Nothing is written where the node has no profile of it. Prints why the command itself could not be
 * profiled (`unknown`: it could), and its executable; then `worth a look`, if profiles of this node
 * have problems that are worth a line, or lack what programs did. Returns the
 * exit status. */
int launched(int count, char *const *arguments);

/* The same without a row; and before a command begins, of which something may be noted then. */
void launched_look(const char *command);
void launched_begin(const char *command);

#endif
