/* The engine as wrappers see it: calls are counted (call.h), a process begins, goes on as another program, and ends. For any thread at any time,
 * as calls are. */
#ifndef SLICEWISE_ENGINE_H
#define SLICEWISE_ENGINE_H

#include "call.h"

/* Before the clock is read for a call that may come before our constructor: of ticks that are read earlier it is not known what they count. */
void engine_prepare(void);

/* Starts the engine if that was not done. Returns whether calls are counted. */
bool engine_start(void);

/* Trouble that a wrapper met, at least once. */
void engine_count_problem(enum problem problem, uint64_t times);

/* The process that is profiled, which a vforked child in its memory is not; 0 where nothing is counted. */
uint32_t engine_pid(void);

/* The mount of a file of MPI-IO, by the path that it is opened by. */
uint32_t engine_mount_of_path(const char *path);

/* The process's rank, as MPI has told it. */
void engine_set_rank(int rank, int ranks);

/* Process life. `engine_leave` before exec of a file (relative to `dirfd`, as in the *at calls), or of one that the PATH is searched for: the
 * segment is finished by whoever comes next; `engine_stay` if exec failed. `engine_spawns`: another process is to be begun with a program,
 * `engine_spawned`: it was. The reason: why the program cannot be profiled; REASON_unknown: it can. */
void engine_finish(enum ending ending);
/* libc will write so many bytes of a stream on this mount after that, and `more` that have been counted for the stream. */
void engine_will_write(uint32_t mount, uint64_t bytes, uint64_t more);
enum reason engine_leave(int dirfd, const char *path, char *const *environment);
enum reason engine_leave_for_command(const char *file, char *const *environment);
void engine_stay(void);
enum reason engine_spawns(const char *path, char *const *environment);
enum reason engine_spawns_command(const char *file, char *const *environment);
void engine_spawned(int pid, const char *path, enum reason reason);
void engine_spawned_command(int pid, const char *file, enum reason reason);
/* After `engine_leave`, where the program is to run without the library. */
void engine_leave_alone(int dirfd, const char *path);
void engine_leave_alone_for_command(const char *file);
void engine_before_child(void); /* by whoever makes one, before it does */
void engine_begin_child(void);

/* Before the program takes from us what we need: what is counted is finished, and every call passes through from then on, here and in the programs
 * that are started. */
void engine_stand_down(enum problem why);

/* What a program hands on to those that it starts, where their environment lacks it: the preload and our settings. Gives `envp` back, or a
 * copy with more in it, made in `room` bytes of zeroes: the caller's up to ENVIRONMENT_STACK_BYTES, since stacks can be small, else those of
 * environment_map, which gives NULL where there are none. `environment_carried_end` where the call that got the copy has returned. */
enum { ENVIRONMENT_STACK_BYTES = 2048 };
enum handed_on {
    HANDED_ON_ALL,
    HANDED_ON_SETTINGS, /* to a program that the library is not made for: its loader would complain of it on stderr */
    HANDED_ON_NOTHING,  /* and what `envp` has of ours is left out: there is no room for it */
};
size_t environment_room(char *const *envp, enum handed_on handed_on);
void *environment_map(size_t room);
char *const *environment_carried(char *const *envp, enum handed_on handed_on, void *room);
void environment_carried_end(char *const *envp, char *const *carried);

static inline enum handed_on handed_on_to(enum reason reason)
{
    return reason == REASON_foreign ? HANDED_ON_SETTINGS : reason == REASON_no_room ? HANDED_ON_NOTHING : HANDED_ON_ALL;
}

/* The address of the function that we stand in front of, or of one that fails with ENOSYS where there is none. */
void *engine_real(const char *name);
/* The same; where it is out of our scope, as the object sees it that `caller` (an address in its code) lies in. Kept in `real` if it stays. */
void *engine_real_near(void **real, const char *name, const void *caller);

/* Called, if it is set, before the process's counts are closed: the last moment to add to them. */
extern void (*engine_before_end)(void);

#endif
