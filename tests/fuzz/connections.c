/* Answers of sock_diag as no kernel gives them: the first byte says which port is asked for and where the input is cut, the rest is messages. */
#include "bed.h"

#include "connections.h"

#include <arpa/inet.h>

static void check_names(const struct connections *connections)
{
    if (connections->slots_used > CONNECTION_SLOTS || connections->followed > CONNECTIONS_MAX)
        abort();
    for (unsigned i = 0; i < connections->slots_used; i++)
        if (memchr(connections->slots[i].name, '\0', CONNECTION_NAME_BYTES) == NULL ||
            memchr(connections->slots[i].source, '\0', CONNECTION_NAME_BYTES) == NULL)
            abort();
}

/* A look of messages that come in two pieces, as the kernel's answers come in several. */
static void look(struct connections *connections, const uint8_t *data, size_t first, size_t size)
{
    connections_begin(connections);
    connections->error = connections_take_listened(connections, data, first);
    connections_know_listened(connections);
    int more = connections_take(connections, data, first);
    if (more == 1)
        more = connections_take(connections, data + first, size - first);
    if (more == 0)
        connections_end(connections);
    check_names(connections);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    bed_make();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct connections connections;
    if (size < 2)
        return 0;
    static const char *const asked[] = { "7001", "1-65535", "", "22,2049-2050,7001" };
    static const char *const mounts[] = { "", "s:/e /m nfs4 rw,port=7001,x 0 0\n", "s /m fuse.glusterfs rw 0 0\ns /n fuse.sshfs rw 0 0\n" };
    unsigned which = data[0] % 4, mounted = data[0] / 4 % 3;
    size_t cut = (size_t)data[1] * (size - 2) / 255;
    data += 2;
    size -= 2;
    connections = (struct connections){ 0 };
    if (!connections_ask_for(&connections, asked[which]))
        abort();
    connections_know_mounts(&connections, mounts[mounted]);
    look(&connections, data, cut, size);
    look(&connections, data, size, size);
    look(&connections, data, 0, size);

    char text[512];
    size_t length = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    connections_ask_for(&connections, text);
    connections_know_mounts(&connections, text);
    return 0;
}
