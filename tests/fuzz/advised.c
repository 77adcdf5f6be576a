/* What a job is told by whoever answers at the coordinator's address. The first byte says what the job does and whether the answers are those
 * of one who knows the secret; then come the challenge's changed bytes and answers, ANSWER_BYTES each. Whatever comes, the job goes on. */
#include "bed.h"

#include "turn_client.h"

#include <pthread.h>

enum { ANSWER_BYTES = 8, ANSWERS_MOST = 64 };
#define DEADLINE_NS 20000000ull

static int listener;
static struct {
    const uint8_t *data;
    size_t size;
    uint8_t secret[SHA256_BYTES];
} played;

static void answer(int fd, const struct turn_message *hello)
{
    const uint8_t *data = played.data;
    size_t size = played.size;
    uint8_t key[SHA256_BYTES];
    struct turn_way from = { .key_use = TURN_FROM_COORDINATOR };
    struct turn_message challenge = { .magic = TURN_MAGIC, .version = TURN_VERSION, .kind = TURN_challenge };
    turn_key(key, played.secret, hello->nonce, challenge.nonce);
    if (data[0] & 1 && size >= 3) { /* a byte of it is another one, or it is cut */
        ((uint8_t *)&challenge)[data[1] % sizeof challenge] = data[2];
        if (data[0] & 2)
            send(fd, &challenge, data[1] % sizeof challenge, MSG_NOSIGNAL);
    }
    send(fd, &challenge, sizeof challenge, MSG_NOSIGNAL);
    data += 3;
    size -= 3;
    for (unsigned i = 0; i < ANSWERS_MOST && size >= ANSWER_BYTES; i++, data += ANSWER_BYTES, size -= ANSWER_BYTES) {
        struct turn_message message = { .magic = TURN_MAGIC, .version = TURN_VERSION, .kind = data[0], .phase = data[1] % 4 };
        memcpy(&message.bytes, data, ANSWER_BYTES);
        turn_seal(&message, key, &from);
        if (data[2] & 128)
            ((uint8_t *)&message)[data[3] % sizeof message] = data[4];
        send(fd, &message, data[2] & 64 ? 1 + data[5] % sizeof message : sizeof message, MSG_NOSIGNAL);
    }
}

static void *play(void *nobody)
{
    struct turn_message hello;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (recv(fd, &hello, sizeof hello, MSG_WAITALL) == sizeof hello)
        answer(fd, &hello);
    shutdown(fd, SHUT_WR);
    while (recv(fd, &hello, sizeof hello, 0) > 0)
        ;
    close(fd);
    return nobody;
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    (void)count;
    (void)arguments;
    bed_make();
    snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", bed);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 8) != 0)
        abort();
    turn_secret(played.secret, "", 0);
    return 0;
}

static void take_turns(struct turn_client *client, uint8_t choice)
{
    const struct turn_phase phase = { .bytes = 1 << 20, .processes = 1 };
    for (unsigned step = 0; step < 4 && turn_client_take(client); step++) {
        turn_client_inform(client, &phase);
        if (choice & 4)
            turn_client_check(client);
        if (choice & 8)
            turn_client_wait(client);
        turn_client_release(client, choice & 16 && step % 2 == 0 ? 1 << 19 : 0);
        turn_client_check(client);
        turn_client_give(client);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct turn_client client;
    char address[128];
    pthread_t coordinator;
    if (size < 3)
        return 0;
    played.data = data;
    played.size = size;
    client = (struct turn_client){ 0 };
    snprintf(address, sizeof address, "unix:%s/socket", bed);
    if (turn_client_begin(&client, address, "", "job", DEADLINE_NS, 0) != NULL || pthread_create(&coordinator, NULL, play, NULL) != 0)
        abort();
    take_turns(&client, data[0]);
    turn_client_give_up(&client, NULL);
    if (client.fd != -1 || client.waited_ns > 100 * DEADLINE_NS)
        abort();
    pthread_join(coordinator, NULL);
    return 0;
}
