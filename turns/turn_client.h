/* A job's side of coordination: tells the coordinator of an I/O phase, and waits where it is told. It advises and nothing more: every wait has an end,
 * and whatever goes wrong (no coordinator, another secret, a network that is cut, a queue that is full) costs at most the deadline, once; then
 * the client is off for the rest of the run, and says so in one line. No lock, no allocation, no thread, no signal; one descriptor, of a high
 * number and closed at exec, which is looked at before each use, for the program may have closed it and have a file of its own by its number.
 * For one thread at a time (turn_client_take). */
#ifndef SLICEWISE_TURN_CLIENT_H
#define SLICEWISE_TURN_CLIENT_H

#include "turn.h"

#include <stdatomic.h>
#include <stdbool.h>

enum turn_state {
    TURN_UNSET, /* nothing is known of a coordinator: every call does nothing */
    TURN_OFF, /* given up for the rest of the run */
    TURN_IDLE, /* no phase is under way */
    TURN_WAITING,
    TURN_GOING,
};

struct turn_phase {
    uint64_t bytes; /* of the whole phase */
    double seconds; /* that it takes alone; 0: not known */
    double demand; /* the share of the storage that this job fills alone; 0: not known */
    uint32_t processes;
    struct turn_more more;
};

struct turn_client {
    struct turn_address address;
    uint8_t secret[SHA256_BYTES], key[SHA256_BYTES];
    uint64_t job, deadline_ns;
    uint32_t policy;
    void (*say)(const char *why); /* called once, when the client gives up; NULL: nobody */
    void (*count)(uint64_t ns, bool is_new); /* so much time that has just passed was a wait's: called while it lasts, too; NULL: nobody */
    _Atomic uint32_t taken; /* some thread is in it */
    enum turn_state state;
    struct turn_phase phase;
    int fd; /* -1: not connected */
    uint32_t pid; /* whose connection it is */
    uint64_t inode, phase_number, wait_began_ns, remaining_bytes;
    bool is_between; /* two steps of a phase */
    uint64_t waited_ns, waits; /* in all */
    struct turn_way to, from;
    struct turn_message coming; /* of which so many bytes are here */
    unsigned filled;
};

/* `address` as for turn_read_address; `secret_file`: "" where there is none. `job`: the job's name. Returns NULL, or what is wrong; then the
 * client stays unset. */
const char *turn_client_begin(struct turn_client *client, const char *address, const char *secret_file, const char *job, uint64_t deadline_ns,
                              uint32_t policy);

/* Takes the client for this thread. Returns false if there is nothing to be done with it: it is off, another thread has it, or it belongs to
 * another process (whose forked child this is; turn_client_forget). */
bool turn_client_take(struct turn_client *client);
void turn_client_give(struct turn_client *client);

/* The following are for who has taken the client. */

/* A phase begins; or, if one is under way, goes on. */
void turn_client_inform(struct turn_client *client, const struct turn_phase *phase);

/* Takes in what the coordinator said. Returns whether the job may go: also where there is no phase, or the client is off. */
bool turn_client_check(struct turn_client *client);

/* Waits until the job may go; between two steps of a phase, another one begins then. Returns false if it goes on without having been told so. */
bool turn_client_wait(struct turn_client *client);

/* A step is over; 0 bytes: and so is the phase. */
void turn_client_release(struct turn_client *client, uint64_t remaining_bytes);

/* From now on the client does nothing. `why` is said; NULL: nothing. */
void turn_client_give_up(struct turn_client *client, const char *why);

/* In a forked child: the connection is its parent's, and the child begins with one of its own. */
void turn_client_forget(struct turn_client *client);

#endif
