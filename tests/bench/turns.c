/* What a coordinator stands: jobs that inform it, get their turn and release it, again and again. As "latency ADDRESS N": one job, N rounds, and the
 * round trip from inform to go. As "load ADDRESS JOBS THREADS SECONDS ROUNDS": so many jobs, a connection each, in so many threads, that together
 * try for ROUNDS a second. Prints microseconds, or rounds a second. */
#include "clock.h"
#include "turn_client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 1 << 20 };
#define DEADLINE_NS (30 * NS_PER_SECOND)

static const char *address;
static _Atomic uint64_t rounds_done, given_up;

static void say(const char *why)
{
    fprintf(stderr, "turns: a job gave up: %s\n", why);
}

static void begin(struct turn_client *client, unsigned number)
{
    char name[32];
    snprintf(name, sizeof name, "job-%u", number);
    const char *wrong = turn_client_begin(client, address, "", name, DEADLINE_NS, 0);
    if (wrong != NULL) {
        fprintf(stderr, "turns: %s\n", wrong);
        exit(1);
    }
    client->say = say;
}

static bool go_round(struct turn_client *client)
{
    static const struct turn_phase phase = { .bytes = 1 << 20, .processes = 4 };
    if (!turn_client_take(client))
        return false;
    turn_client_inform(client, &phase);
    bool may_go = turn_client_wait(client);
    turn_client_release(client, 0);
    turn_client_give(client);
    return may_go;
}

static int by_size(const void *one, const void *other)
{
    const uint64_t first = *(const uint64_t *)one, second = *(const uint64_t *)other;
    return first < second ? -1 : first > second;
}

static int latency(unsigned rounds)
{
    static struct turn_client client;
    static uint64_t took_ns[ROUNDS_MOST];
    begin(&client, 0);
    for (unsigned i = 0; i < rounds && i < ROUNDS_MOST; i++) {
        uint64_t began = clock_read(CLOCK_MONOTONIC);
        if (!go_round(&client))
            return 1;
        took_ns[i] = clock_read(CLOCK_MONOTONIC) - began;
    }
    qsort(took_ns, rounds, sizeof *took_ns, by_size);
    printf("median_us %.1f p99_us %.1f most_us %.1f\n", (double)took_ns[rounds / 2] / 1e3, (double)took_ns[rounds * 99ull / 100] / 1e3,
           (double)took_ns[rounds - 1] / 1e3);
    return 0;
}

struct share {
    pthread_t thread;
    unsigned first, jobs;
    double seconds, rounds_a_second;
};

static void *load(void *argument)
{
    const struct share *share = argument;
    struct turn_client *clients = calloc(share->jobs, sizeof *clients);
    for (unsigned i = 0; i < share->jobs; i++)
        begin(&clients[i], share->first + i);
    uint64_t began = clock_read(CLOCK_MONOTONIC), done = 0;
    for (unsigned i = 0;; i = (i + 1) % share->jobs) {
        double so_far = (double)(clock_read(CLOCK_MONOTONIC) - began) / 1e9;
        if (so_far > share->seconds)
            break;
        if ((double)done > so_far * share->rounds_a_second) {
            const struct timespec pause = { .tv_nsec = 200000 };
            nanosleep(&pause, NULL);
            continue;
        }
        given_up += !go_round(&clients[i]);
        done++;
    }
    rounds_done += done;
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "latency") == 0) {
        address = argv[2];
        return latency((unsigned)atoi(argv[3]));
    }
    if (argc != 7 || strcmp(argv[1], "load") != 0) {
        fprintf(stderr, "usage: turns latency ADDRESS N | turns load ADDRESS JOBS THREADS SECONDS ROUNDS\n");
        return 2;
    }
    address = argv[2];
    unsigned jobs = (unsigned)atoi(argv[3]), threads = (unsigned)atoi(argv[4]);
    double seconds = atof(argv[5]);
    struct share *shares = calloc(threads, sizeof *shares);
    for (unsigned i = 0; i < threads; i++) {
        shares[i] = (struct share){ .first = i * (jobs / threads), .jobs = jobs / threads, .seconds = seconds, .rounds_a_second = atof(argv[6]) / threads };
        pthread_create(&shares[i].thread, NULL, load, &shares[i]);
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(shares[i].thread, NULL);
    printf("rounds_a_second %.0f given_up %llu\n", (double)rounds_done / seconds, (unsigned long long)given_up);
    return 0;
}
