#include "turn.h"

#include "text.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

void turn_key(uint8_t key[SHA256_BYTES], const uint8_t secret[SHA256_BYTES], const uint8_t nonce[TURN_NONCE_BYTES],
              const uint8_t coordinators_nonce[TURN_NONCE_BYTES])
{
    uint8_t both[2 * TURN_NONCE_BYTES];
    memcpy(both, nonce, TURN_NONCE_BYTES);
    memcpy(both + TURN_NONCE_BYTES, coordinators_nonce, TURN_NONCE_BYTES);
    hmac_sha256(secret, both, sizeof both, key);
}

uint64_t turn_job(const uint8_t secret[SHA256_BYTES], unsigned user, const char *name)
{
    char text[512];
    uint8_t code[SHA256_BYTES];
    uint64_t number;
    char *end = text_put(text_put(text_put_number(text, text + sizeof text, user), text + sizeof text, " "), text + sizeof text, name);
    hmac_sha256(secret, text, (size_t)(end - text), code);
    memcpy(&number, code, sizeof number);
    return number;
}

void turn_secret(uint8_t secret[SHA256_BYTES], const char *text, size_t size)
{
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r' || text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    sha256(text, size, secret);
}

static void find_code(const struct turn_message *message, const uint8_t key[SHA256_BYTES], uint64_t key_use, uint8_t code[SHA256_BYTES])
{
    uint8_t covered[sizeof key_use + offsetof(struct turn_message, code)];
    memcpy(covered, &key_use, sizeof key_use);
    memcpy(covered + sizeof key_use, message, offsetof(struct turn_message, code));
    hmac_sha256(key, covered, sizeof covered, code);
}

void turn_seal(struct turn_message *message, const uint8_t key[SHA256_BYTES], struct turn_way *way)
{
    message->magic = TURN_MAGIC;
    message->version = TURN_VERSION;
    message->number = ++way->number;
    find_code(message, key, way->key_use, message->code);
}

bool turn_is_sound(const struct turn_message *message, const uint8_t key[SHA256_BYTES], struct turn_way *way)
{
    uint8_t code[SHA256_BYTES];
    if (message->magic != TURN_MAGIC || message->version != TURN_VERSION || message->number != way->number + 1)
        return false;
    find_code(message, key, way->key_use, code);
    if (!sha256_is_same(code, message->code))
        return false;
    way->number++;
    return true;
}

static bool read_port(const char *text, in_port_t *port)
{
    unsigned number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && number <= UINT16_MAX; at++)
        number = number * 10 + (unsigned)(*at - '0');
    *port = htons((uint16_t)number);
    return at != text && *at == '\0' && number > 0 && number <= UINT16_MAX;
}

static bool read_local(struct turn_address *address, const char *path)
{
    size_t length = strlen(path);
    if (path[0] != '/' || length >= sizeof address->at.local.sun_path)
        return false;
    address->at.local.sun_family = AF_UNIX;
    memcpy(address->at.local.sun_path, path, length + 1);
    address->size = sizeof address->at.local;
    return true;
}

bool turn_read_address(struct turn_address *address, const char *text)
{
    char host[64];
    in_port_t port;
    memset(address, 0, sizeof *address);
    if (strncmp(text, "unix:", 5) == 0)
        return read_local(address, text + 5);
    const char *colon = strrchr(text, ':');
    if (strncmp(text, "tcp:", 4) != 0 || colon < text + 4 || !read_port(colon + 1, &port))
        return false;
    const char *begin = text + 4, *end = colon;
    if (*begin == '[' && end > begin + 1 && end[-1] == ']') {
        begin++;
        end--;
    }
    if ((size_t)(end - begin) >= sizeof host)
        return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    if (inet_pton(AF_INET, host, &address->at.four.sin_addr) == 1) {
        address->at.four.sin_family = AF_INET;
        address->at.four.sin_port = port;
        address->size = sizeof address->at.four;
        return true;
    }
    if (inet_pton(AF_INET6, host, &address->at.six.sin6_addr) != 1)
        return false;
    address->at.six.sin6_family = AF_INET6;
    address->at.six.sin6_port = port;
    address->size = sizeof address->at.six;
    return true;
}
