/* What a job and the coordinator say to each other: messages of one size over a stream socket, each with a code that only a holder of the
 * connection's key can make. The key is made of the site's secret and a random number of each side, so that the secret itself is never sent, and
 * nothing can be sent again: messages are numbered in each direction. No job's name is sent, only a number made of it. Both sides run on
 * machines of one byte order (`magic` tells where they do not). */
#ifndef SLICEWISE_TURN_H
#define SLICEWISE_TURN_H

#include "sha256.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { TURN_MAGIC = 0x6e527554, TURN_VERSION = 1, TURN_NONCE_BYTES = 16 };

enum turn_kind {
    TURN_hello = 1, /* to the coordinator: a random number */
    TURN_challenge, /* from it: its own. From here on messages have a code */
    TURN_join,      /* to it: which job this process belongs to */
    TURN_inform,    /* to it: an I/O phase begins, or (if one is under way) so much of it is left */
    TURN_release,   /* to it: a step of the phase is over, and so much of it is left; 0: the phase is over */
    TURN_go,        /* from it: the job may go */
    TURN_stop,      /* from it: the job is to wait at its next boundary */
    TURN_out,       /* from it: it takes the phase for over; the next inform begins another one */
};

/* What else inform says. */
struct turn_more {
    double period_seconds; /* from the phase's beginning to that of the next one; 0: not known */
    uint64_t targets; /* of the storage that it uses, a bit each; 0: not known */
};

struct turn_message {
    uint32_t magic;
    uint16_t version, kind;
    uint64_t number;
    union {
        uint8_t nonce[TURN_NONCE_BYTES]; /* of hello and challenge */
        struct turn_more more;
    };
    uint64_t job;                    /* of join: the job's number, see turn_job */
    uint64_t bytes, remaining_bytes; /* of inform and release: of the whole phase, and what is left of them */
    double seconds;                  /* that the phase takes alone, as far as the job knows; 0: the coordinator is to tell by the bytes */
    double demand;                   /* the share of the storage that the job fills alone; 0: not known */
    uint32_t processes;              /* that do this I/O */
    uint32_t policy;                 /* that the job asks for (enum policy of the collector) + 1; 0: none */
    uint64_t phase;                  /* of inform: counts up; of go, stop and out: the phase of which they speak */
    uint8_t unused[8];
    uint8_t code[SHA256_BYTES];
};
_Static_assert(sizeof(struct turn_message) == 128, "it has no padding of its own");

/* One direction of a connection. */
struct turn_way {
    uint64_t key_use; /* differs between the two directions, so that no message can be sent back to who made it */
    uint64_t number;
};
enum { TURN_TO_COORDINATOR = 1, TURN_FROM_COORDINATOR = 2 };

/* Either side's key. */
void turn_key(uint8_t key[SHA256_BYTES], const uint8_t secret[SHA256_BYTES], const uint8_t nonce[TURN_NONCE_BYTES],
              const uint8_t coordinators_nonce[TURN_NONCE_BYTES]);

/* A job's number: it tells nothing of the name to who has not the secret. */
uint64_t turn_job(const uint8_t secret[SHA256_BYTES], unsigned user, const char *name);

/* The secret as keys are made of it, from the text of its file; a blank or line's end behind it does not belong to it. */
void turn_secret(uint8_t secret[SHA256_BYTES], const char *text, size_t size);

/* Numbers a message and gives it its code; looks whether a message is the next of its direction, with the right code. */
void turn_seal(struct turn_message *message, const uint8_t key[SHA256_BYTES], struct turn_way *way);
bool turn_is_sound(const struct turn_message *message, const uint8_t key[SHA256_BYTES], struct turn_way *way);

/* Where a coordinator is: unix:PATH or tcp:HOST:PORT, with HOST in digits, for looking up a name takes locks and memory. */
struct turn_address {
    socklen_t size;
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } at;
};
/* Returns false for a text that is none. */
bool turn_read_address(struct turn_address *address, const char *text);

#endif
