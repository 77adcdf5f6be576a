#include "served.h"

#include "raw.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The trees in which versions of Lustre have their parameters, and the devices that keep counts by job there. */
static const char *const trees[] = { "/proc/fs/lustre", "/sys/kernel/debug/lustre", "/sys/fs/lustre" };
static const char *const devices[] = { "obdfilter", "mdt" };
enum { TREES = sizeof trees / sizeof *trees, DEVICE_KINDS = sizeof devices / sizeof *devices, PATH_BYTES = 1024 };
/* A job that so many looks did not meet is forgotten when its place is needed: Lustre has long dropped it. */
enum { TURNS_KEPT = 16, TURNS_BETWEEN_REBUILDS = 64 };
#define IDLE_NS 120000000000ull /* Lustre forgets a job that was idle for job_cleanup_interval: 600 s unless a site has another one */
#define COARSE_NS 2000000000ull /* a time in whole seconds may be that old and more may have come since */

static uint64_t hash_of(const char *name, uint64_t seed)
{
    uint64_t hash = 0xcbf29ce484222325ull ^ seed * 0x9e3779b97f4a7c15ull;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
    return hash ^ hash >> 29;
}

static uint32_t *job_cell(struct served *served, const char *name, bool is_client)
{
    const uint32_t mask = 2 * SERVED_JOBS_MAX - 1;
    for (uint32_t at = (uint32_t)hash_of(name, is_client) & mask;; at = (at + 1) & mask) {
        uint32_t *cell = &served->of_job[at];
        if (*cell == 0 || (served->jobs[*cell - 1].is_client == is_client && strcmp(served->jobs[*cell - 1].name, name) == 0))
            return cell;
    }
}

static uint32_t *entry_cell(struct served *served, uint32_t job, uint16_t target)
{
    const uint32_t mask = 2 * SERVED_ENTRIES_MAX - 1;
    uint64_t hash = ((uint64_t)job << 16 | target) * 0x9e3779b97f4a7c15ull;
    for (uint32_t at = (uint32_t)(hash >> 40) & mask;; at = (at + 1) & mask) {
        uint32_t *cell = &served->of_entry[at];
        if (*cell == 0 || (served->entries[*cell - 1].job == job && served->entries[*cell - 1].target == target))
            return cell;
    }
}

bool served_is_pending(const struct served_entry *entry)
{
    uint64_t any = 0;
    for (unsigned count = 0; count < SERVED_COUNTS; count++)
        any |= entry->pending[count];
    return any != 0;
}

/* Gives up the places of whoever is gone, and lays both tables anew. */
static void rebuild(struct served *served)
{
    static uint32_t moved_to[SERVED_JOBS_MAX];
    unsigned entries = 0, jobs = 0;
    for (unsigned i = 0; i < served->jobs_used; i++)
        served->jobs[i].entries = 0;
    for (unsigned i = 0; i < served->entries_used; i++) {
        const struct served_entry *entry = &served->entries[i];
        if (served->turn - entry->turn > TURNS_KEPT && !served_is_pending(entry))
            continue;
        served->entries[entries] = *entry;
        served->jobs[served->entries[entries++].job].entries++;
    }
    for (unsigned i = 0; i < served->jobs_used; i++)
        if (served->jobs[i].entries > 0) {
            moved_to[i] = jobs;
            served->jobs[jobs++] = served->jobs[i];
        }
    served->entries_used = entries;
    served->jobs_used = jobs;
    memset(served->of_job, 0, sizeof served->of_job);
    memset(served->of_entry, 0, sizeof served->of_entry);
    for (unsigned i = 0; i < jobs; i++)
        *job_cell(served, served->jobs[i].name, served->jobs[i].is_client) = i + 1;
    for (unsigned i = 0; i < entries; i++) {
        served->entries[i].job = moved_to[served->entries[i].job];
        *entry_cell(served, served->entries[i].job, served->entries[i].target) = i + 1;
    }
}

/* Returns -1 if there is no room. */
static int job_of(struct served *served, const char *name, bool is_client)
{
    uint32_t *cell = job_cell(served, name, is_client);
    if (*cell != 0)
        return (int)*cell - 1;
    if (served->jobs_used == SERVED_JOBS_MAX)
        return -1;
    struct served_job *job = &served->jobs[served->jobs_used++];
    *job = (struct served_job){ .number = served->next_job++, .is_client = is_client };
    snprintf(job->name, sizeof job->name, "%.63s", name);
    *cell = served->jobs_used;
    return (int)served->jobs_used - 1;
}

/* NULL: nobody knows it yet, and `room` says whether it may be made. */
static struct served_entry *known_entry(struct served *served, const struct job_entry *said, uint16_t target, bool is_client)
{
    uint32_t job = *job_cell(served, said->name, is_client);
    uint32_t entry = job != 0 ? *entry_cell(served, job - 1, target) : 0;
    return entry != 0 ? &served->entries[entry - 1] : NULL;
}

/* A look at one target. */
struct look {
    struct served *served;
    uint16_t target;
    bool is_client, is_first; /* the first look ever at the target: what it has counted so far was before us */
    bool is_from_zero;        /* but this source counts from the moment on in which we began */
    uint64_t began_ns;        /* the look before */
};

static bool is_known(void *argument, const struct job_entry *said)
{
    const struct look *look = argument;
    struct served_entry *entry = known_entry(look->served, said, look->target, look->is_client);
    if (entry == NULL || said->changed_ns == 0 || entry->changed_ns != said->changed_ns || entry->start_ns != said->start_ns)
        return false;
    if (!said->is_changed_exactly && said->changed_ns + COARSE_NS > look->began_ns)
        return false;
    entry->turn = look->served->turn;
    return true;
}

static void count(struct served_entry *entry, const struct job_entry *said, bool is_anew)
{
    for (unsigned i = 0; i < SERVED_COUNTS; i++) {
        entry->pending[i] += is_anew ? said->counts[i] : said->counts[i] - entry->counts[i];
        entry->counts[i] = said->counts[i];
    }
}

static void take(void *argument, const struct job_entry *said)
{
    const struct look *look = argument;
    struct served *served = look->served;
    struct served_entry *entry = known_entry(served, said, look->target, look->is_client);
    bool is_new = entry == NULL, is_anew = is_new || (entry->start_ns != 0 && said->start_ns > entry->start_ns);
    if (is_new) {
        int job = served->entries_used < SERVED_ENTRIES_MAX ? job_of(served, said->name, look->is_client) : -1;
        if (job < 0) {
            served->left_out++;
            return;
        }
        entry = &served->entries[served->entries_used++];
        *entry = (struct served_entry){ .job = (uint32_t)job, .target = look->target, .is_in_use = true };
        *entry_cell(served, (uint32_t)job, look->target) = served->entries_used;
        served->jobs[job].entries++;
    }
    for (unsigned i = 0; i < SERVED_COUNTS; i++)
        is_anew |= said->counts[i] < entry->counts[i];
    /* An idle job that a look did not meet was forgotten, and began anew since then. */
    is_anew |= entry->turn < served->targets[look->target].whole_turn && entry->changed_ns > 0 && entry->changed_ns + IDLE_NS < look->began_ns;
    /* What was there before we looked for the first time is of no slice that we know. */
    bool is_old = is_new && look->is_first && !look->is_from_zero && (said->start_ns == 0 || said->start_ns < served->looked_ns);
    if (is_old)
        memcpy(entry->counts, said->counts, sizeof entry->counts);
    else
        count(entry, said, is_anew);
    entry->changed_ns = said->changed_ns;
    entry->start_ns = said->start_ns;
    entry->turn = served->turn;
}

static int storage_of(struct served *served, const char *name, const char *type)
{
    for (unsigned i = 0; i < served->storages_used; i++)
        if (strcmp(served->storages[i].name, name) == 0)
            return (int)i;
    if (served->storages_used == SERVED_STORAGES_MAX)
        return -1;
    struct served_storage *storage = &served->storages[served->storages_used];
    snprintf(storage->name, sizeof storage->name, "%.63s", name);
    storage->type = type;
    return (int)served->storages_used++;
}

/* Returns NULL if there is no room. */
static struct served_target *target_of(struct served *served, const char *name, const char *storage_name, const char *type)
{
    for (unsigned i = 0; i < served->targets_used; i++)
        if (strcmp(served->targets[i].name, name) == 0)
            return &served->targets[i];
    int storage = served->targets_used < SERVED_TARGETS_MAX ? storage_of(served, storage_name, type) : -1;
    if (storage < 0) {
        served->left_out++;
        return NULL;
    }
    struct served_target *target = &served->targets[served->targets_used++];
    *target = (struct served_target){ .storage = (uint8_t)storage };
    snprintf(target->name, sizeof target->name, "%.63s", name);
    return target;
}

/* The file system of lus-OST0003 is lus. */
static void storage_name_of(const char *target, char name[JOB_NAME_ROOM])
{
    const char *dash = strrchr(target, '-');
    bool is_one = dash != NULL && dash > target && (strncmp(dash, "-OST", 4) == 0 || strncmp(dash, "-MDT", 4) == 0);
    snprintf(name, JOB_NAME_ROOM, "%.*s", is_one ? (int)(dash - target) : (int)strlen(target), target);
}

/* A target of which no job is known: its clients. */
static void look_at_clients(struct look *look, const char *dir)
{
    char path[PATH_BYTES];
    unsigned clients = 0;
    snprintf(path, sizeof path, "%.900s/exports", dir);
    DIR *exports = opendir(path);
    look->is_client = true;
    for (struct dirent *one; exports != NULL && (one = readdir(exports)) != NULL;) {
        struct job_entry said = { 0 };
        if (one->d_name[0] == '.' || one->d_type == DT_REG)
            continue;
        if (clients++ == SERVED_CLIENTS_MAX) {
            look->served->left_out++;
            break;
        }
        int length = snprintf(path, sizeof path, "%.700s/exports/%.255s/stats", dir, one->d_name);
        snprintf(said.name, sizeof said.name, "%.63s", one->d_name);
        if (length < (int)sizeof path && job_stats_read_client(&said, path) == 0)
            take(look, &said);
    }
    if (exports != NULL)
        closedir(exports);
}

static void look_at_target(struct served *served, const char *dir, const char *name)
{
    char path[PATH_BYTES], storage[JOB_NAME_ROOM];
    snprintf(path, sizeof path, "%.900s/job_stats", dir);
    bool has_jobs = access(path, R_OK) == 0;
    char clients[PATH_BYTES];
    snprintf(clients, sizeof clients, "%.900s/exports", dir);
    if (!has_jobs && access(clients, R_OK) != 0)
        return;
    storage_name_of(name, storage);
    struct served_target *target = target_of(served, name, storage, "lustre");
    if (target == NULL)
        return;
    target->first_turn = target->first_turn == 0 ? served->turn : target->first_turn;
    struct look look = { served, (uint16_t)(target - served->targets), false, target->first_turn == served->turn, false, served->looked_ns };
    struct job_stats reader = { &look, is_known, take, 0 };
    int read = has_jobs && target->turn != served->turn ? job_stats_read(&reader, path) : 0;
    if (read < 0)
        served->damaged++;
    else
        target->whole_turn = served->turn;
    target->jobs_turn = reader.entries > 0 ? served->turn : target->jobs_turn;
    if (target->jobs_turn == 0) /* where jobs are known, clients' counts are the same bytes once more */
        look_at_clients(&look, dir);
    target->turn = served->turn;
}

static void look_at_lustre(struct served *served)
{
    for (unsigned tree = 0; tree < TREES; tree++)
        for (unsigned kind = 0; kind < DEVICE_KINDS; kind++) {
            char path[PATH_BYTES];
            snprintf(path, sizeof path, "%s%s/%s", served->root, trees[tree], devices[kind]);
            DIR *targets = opendir(path);
            for (struct dirent *one; targets != NULL && (one = readdir(targets)) != NULL;) {
                char dir[PATH_BYTES];
                int length = snprintf(dir, sizeof dir, "%s/%s", path, one->d_name);
                if (one->d_name[0] != '.' && one->d_type != DT_REG && length < PATH_BYTES - 300)
                    look_at_target(served, dir, one->d_name);
            }
            if (targets != NULL)
                closedir(targets);
        }
}

/* What NFS clients call themselves, from /proc/fs/nfsd/clients: the last word of `name: "Linux NFSv4.2 n17"`, by `address: "10.0.0.1:789"`. */
struct nfs_clients {
    unsigned used;
    struct {
        char address[CONNECTION_NAME_BYTES], name[JOB_NAME_ROOM];
    } all[CONNECTION_CLIENTS_MAX];
};

static void read_nfs_clients(const struct served *served, struct nfs_clients *known)
{
    char path[PATH_BYTES], text[4096];
    snprintf(path, sizeof path, "%s/proc/fs/nfsd/clients", served->root);
    known->used = 0;
    DIR *clients = opendir(path);
    for (struct dirent *one; clients != NULL && known->used < CONNECTION_CLIENTS_MAX && (one = readdir(clients)) != NULL;) {
        snprintf(path, sizeof path, "%s/proc/fs/nfsd/clients/%.255s/info", served->root, one->d_name);
        if (one->d_name[0] == '.' || raw_read_file(path, text, sizeof text) <= 0)
            continue;
        const char *at = strstr(text, "address: \""), *called = strstr(text, "name: \"");
        if (at == NULL || called == NULL)
            continue;
        at += strlen("address: \"");
        called += strlen("name: \"");
        size_t length = strcspn(at, "\"\n"), size = strcspn(called, "\"\n"), last = size;
        while (length > 0 && at[--length] != ':') /* its port */
            ;
        while (last > 0 && called[last - 1] != ' ')
            last--;
        snprintf(known->all[known->used].address, CONNECTION_NAME_BYTES, "%.*s", (int)length, at);
        snprintf(known->all[known->used].name, JOB_NAME_ROOM, "%.*s", (int)(size - last), called + last);
        known->used += size > last;
    }
    if (clients != NULL)
        closedir(clients);
}

static const char *name_of_client(const struct nfs_clients *known, const char *address)
{
    for (unsigned i = 0; i < known->used; i++)
        if (strcmp(known->all[i].address, address) == 0)
            return known->all[i].name;
    return address;
}

/* The target that a service of this host is: of an NFS or samba server, which is a file system by itself, its name and address; of a pool's
 * server, the pool's type and its name. */
static struct served_target *target_of_service(struct served *served, const struct connection_slot *slot)
{
    char host[JOB_NAME_ROOM] = "server", name[2 * JOB_NAME_ROOM];
    const char *type = slot->service->types[0], *plain = strrchr(type, '.') != NULL ? strrchr(type, '.') + 1 : type;
    gethostname(host, sizeof host - 1);
    bool is_pool = slot->service->is_pool, is_nfs = strcmp(type, "nfs") == 0;
    snprintf(name, sizeof name, "%s%s%s", is_nfs ? "" : plain, is_nfs ? "" : is_pool ? "/" : "-", host);
    struct served_target *target = target_of(served, name, !is_pool ? name : served->source[0] != '\0' ? served->source : plain, type);
    if (target != NULL && target->address[0] == '\0' && !is_pool) /* as mounts have it: IPv6 without its brackets */
        snprintf(target->address, sizeof target->address, "%.*s", (int)strcspn(slot->source + (slot->source[0] == '['), "]"),
                 slot->source + (slot->source[0] == '['));
    return target;
}

/* Clients of all other services, by their connections. Only of the running system: a directory that stands for its root has none. */
static void look_at_connections(struct served *served)
{
    static struct connections connections;
    static struct nfs_clients nfs;
    static struct {
        struct served_target *target;
        struct job_entry said;
    } clients[CONNECTION_CLIENT_SLOTS];
    unsigned used = 0;
    if (served->root[0] != '\0')
        return;
    connections.by_client = true;
    connections_read(&connections, "");
    read_nfs_clients(served, &nfs);
    for (unsigned i = 0; i < connections.slots_used; i++) {
        const struct connection_slot *slot = &connections.slots[i];
        served->left_out += slot->service == NULL;
        if (slot->service == NULL || slot->is_server || strcmp(slot->service->types[0], "lustre") == 0)
            continue;
        struct served_target *target = target_of_service(served, slot);
        if (target == NULL)
            continue;
        const char *name = name_of_client(&nfs, slot->name);
        unsigned place = 0;
        while (place < used && (clients[place].target != target || strcmp(clients[place].said.name, name) != 0))
            place++;
        if (place == used) {
            clients[used].said = (struct job_entry){ 0 };
            clients[used].target = target;
            snprintf(clients[used++].said.name, JOB_NAME_ROOM, "%.63s", name);
        }
        clients[place].said.counts[SERVED_read_bytes] += slot->now[node_connections_sent_bytes];
        clients[place].said.counts[SERVED_write_bytes] += slot->now[node_connections_received_bytes];
    }
    for (unsigned i = 0; i < used; i++) {
        struct served_target *target = clients[i].target;
        struct look look = { served, (uint16_t)(target - served->targets), true, target->turn == 0, true, served->looked_ns };
        take(&look, &clients[i].said);
    }
    for (unsigned i = 0; i < used; i++)
        clients[i].target->turn = served->turn;
    served->left_out += connections.left_out;
}

void served_look(struct served *served, uint64_t now_ns)
{
    served->turn++;
    bool is_full = served->entries_used > SERVED_ENTRIES_MAX / 4 * 3 || served->jobs_used > SERVED_JOBS_MAX / 4 * 3;
    if (is_full || served->turn % TURNS_BETWEEN_REBUILDS == 0)
        rebuild(served);
    if (served->looked_ns == 0)
        served->looked_ns = now_ns;
    look_at_lustre(served);
    look_at_connections(served);
    served->looked_ns = now_ns;
}

void served_forget_names(struct served *served, unsigned storage)
{
    for (unsigned i = 0; i < served->targets_used; i++)
        served->targets[i].is_named &= served->targets[i].storage != storage;
    for (unsigned i = 0; i < served->jobs_used; i++)
        served->jobs[i].is_named &= (uint8_t)~(1u << storage);
}
