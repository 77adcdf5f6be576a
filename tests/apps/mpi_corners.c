/* Corners of MPI, as the first argument says, on two ranks: calls whose numbers tests/endtoend/test_mpi_corners.py knows. It prints "unknown" where
 * this MPI has no such calls. */
#include "scenario.h"

#include <mpi.h>
#include <stdbool.h>

enum { TIMES = 10 };

/* Collectives among neighbours of a ring. */
static void neighbours(int ranks)
{
    MPI_Comm ring;
    int sizes[1] = { ranks }, wraps[1] = { 1 }, mine = 7, theirs[2] = { 0 };
    MPI_Request request;
    REQUIRE(MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, wraps, 0, &ring) == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++) {
        REQUIRE(MPI_Neighbor_allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, ring) == MPI_SUCCESS);
        REQUIRE(theirs[0] == 7 && theirs[1] == 7);
        REQUIRE(MPI_Ineighbor_allgather(&mine, 1, MPI_INT, theirs, 1, MPI_INT, ring, &request) == MPI_SUCCESS);
        REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    REQUIRE(MPI_Comm_free(&ring) == MPI_SUCCESS);
}

/* Persistent requests, started again and again. */
static void persistent(int rank)
{
    MPI_Request request;
    int number = rank;
    if (rank == 0)
        REQUIRE(MPI_Send_init(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    else
        REQUIRE(MPI_Recv_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++) {
        REQUIRE(MPI_Start(&request) == MPI_SUCCESS);
        REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    REQUIRE(MPI_Request_free(&request) == MPI_SUCCESS && number == 0);
}

/* Variables of the MPI that its tools read: no communication. */
static void tools(void)
{
    int provided, count = -1;
    REQUIRE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    REQUIRE(MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count >= 0);
    REQUIRE(MPI_T_finalize() == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++)
        REQUIRE(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* A program that MPI starts, and that answers. */
static void spawn(char *own, int rank)
{
    char *arguments[] = { "child", NULL };
    MPI_Comm children;
    int number = 0;
    REQUIRE(MPI_Comm_spawn(own, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    if (rank == 0)
        REQUIRE(MPI_Recv(&number, 1, MPI_INT, 0, 0, children, MPI_STATUS_IGNORE) == MPI_SUCCESS && number == 42);
    REQUIRE(MPI_Comm_disconnect(&children) == MPI_SUCCESS);
}

static void child(void)
{
    MPI_Comm parents;
    int number = 42;
    REQUIRE(MPI_Comm_get_parent(&parents) == MPI_SUCCESS && parents != MPI_COMM_NULL);
    REQUIRE(MPI_Send(&number, 1, MPI_INT, 0, 0, parents) == MPI_SUCCESS);
    REQUIRE(MPI_Comm_disconnect(&parents) == MPI_SUCCESS);
}

/* Ranks that reach into each other's memory: within fences, in an exposure of their own, and under locks. Without MPI_Compare_and_swap, with
 * which Open MPI 4.1.4 crashes, bare too. */
static void one_sided(int rank, int ranks)
{
    enum { NUMBERS = 4, LOCAL = TIMES * NUMBERS };
    MPI_Win window;
    MPI_Group all, other;
    MPI_Request request;
    int peer = (rank + 1) % ranks, *shared, mine[NUMBERS] = { 1, 1, 1, 1 }, theirs[NUMBERS], one = 1, before;
    REQUIRE(MPI_Win_allocate(LOCAL * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window) == MPI_SUCCESS);
    memset(shared, 0, LOCAL * sizeof(int));
    REQUIRE(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++)
        REQUIRE(MPI_Put(mine, NUMBERS, MPI_INT, peer, i * NUMBERS, NUMBERS, MPI_INT, window) == MPI_SUCCESS);
    REQUIRE(MPI_Put(mine, NUMBERS, MPI_INT, MPI_PROC_NULL, 0, NUMBERS, MPI_INT, window) == MPI_SUCCESS);
    REQUIRE(MPI_Win_fence(0, window) == MPI_SUCCESS);
    REQUIRE(shared[0] == 1 && shared[LOCAL - 1] == 1);
    REQUIRE(MPI_Win_fence(0, window) == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++)
        REQUIRE(MPI_Accumulate(mine, 2, MPI_INT, peer, 0, 2, MPI_INT, MPI_SUM, window) == MPI_SUCCESS);
    REQUIRE(MPI_Win_fence(0, window) == MPI_SUCCESS);
    REQUIRE(shared[0] == 1 + TIMES && shared[2] == 1);

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    REQUIRE(MPI_Win_post(other, 0, window) == MPI_SUCCESS && MPI_Win_start(other, 0, window) == MPI_SUCCESS);
    REQUIRE(MPI_Get(theirs, NUMBERS, MPI_INT, peer, 0, NUMBERS, MPI_INT, window) == MPI_SUCCESS);
    REQUIRE(MPI_Win_complete(window) == MPI_SUCCESS && MPI_Win_wait(window) == MPI_SUCCESS);
    REQUIRE(theirs[0] == 1 + TIMES && theirs[3] == 1);

    for (int i = 0; i < TIMES; i++) {
        REQUIRE(MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window) == MPI_SUCCESS);
        REQUIRE(MPI_Get(theirs, 3, MPI_INT, peer, 0, 3, MPI_INT, window) == MPI_SUCCESS);
        REQUIRE(MPI_Win_flush(peer, window) == MPI_SUCCESS && theirs[0] == 1 + TIMES);
        REQUIRE(MPI_Win_unlock(peer, window) == MPI_SUCCESS);
    }
    REQUIRE(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS); /* all have read */
    REQUIRE(MPI_Win_lock_all(0, window) == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++)
        REQUIRE(MPI_Fetch_and_op(&one, &before, MPI_INT, peer, 0, MPI_SUM, window) == MPI_SUCCESS);
    REQUIRE(MPI_Win_flush_local(peer, window) == MPI_SUCCESS && MPI_Win_flush(peer, window) == MPI_SUCCESS && before == 2 * TIMES);
    REQUIRE(MPI_Rput(mine, NUMBERS, MPI_INT, peer, NUMBERS, NUMBERS, MPI_INT, window, &request) == MPI_SUCCESS);
    REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    REQUIRE(MPI_Get_accumulate(mine, NUMBERS, MPI_INT, theirs, NUMBERS, MPI_INT, peer, 2 * NUMBERS, NUMBERS, MPI_INT, MPI_SUM, window) ==
            MPI_SUCCESS);
    REQUIRE(MPI_Win_flush_all(window) == MPI_SUCCESS && MPI_Win_sync(window) == MPI_SUCCESS && theirs[0] == 1);
    REQUIRE(MPI_Win_unlock_all(window) == MPI_SUCCESS);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    REQUIRE(MPI_Win_free(&window) == MPI_SUCCESS);
}

#if MPI_VERSION >= 4
/* A message in parts, each of which is ready by itself. */
static void partitioned(int rank)
{
    MPI_Request request;
    int parts[TIMES] = { 0 }, is_there = 0;
    if (rank == 0) {
        REQUIRE(MPI_Psend_init(parts, TIMES, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS);
        REQUIRE(MPI_Start(&request) == MPI_SUCCESS);
        for (int i = 0; i < TIMES; i++)
            REQUIRE(MPI_Pready(i, request) == MPI_SUCCESS);
    } else {
        REQUIRE(MPI_Precv_init(parts, TIMES, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request) == MPI_SUCCESS);
        REQUIRE(MPI_Start(&request) == MPI_SUCCESS);
        for (int i = 0; i < TIMES; i++)
            REQUIRE(MPI_Parrived(request, i, &is_there) == MPI_SUCCESS);
    }
    REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    REQUIRE(MPI_Request_free(&request) == MPI_SUCCESS);
}

/* MPI without MPI_Init. */
static void session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    int sum = 1;
    REQUIRE(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    REQUIRE(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    REQUIRE(MPI_Comm_create_from_group(group, "slicewise", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all) == MPI_SUCCESS);
    for (int i = 0; i < TIMES; i++)
        REQUIRE(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, all) == MPI_SUCCESS);
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    REQUIRE(MPI_Session_finalize(&session) == MPI_SUCCESS);
}
#else
static void partitioned(int rank)
{
    if (rank == 0)
        puts("unknown");
}

static void session(void)
{
    puts("unknown");
}
#endif

int main(int argc, char **argv)
{
    int rank, ranks;
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "session") == 0) {
        session();
        return 0;
    }
    REQUIRE(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(what, "neighbours") == 0)
        neighbours(ranks);
    else if (strcmp(what, "persistent") == 0)
        persistent(rank);
    else if (strcmp(what, "tools") == 0)
        tools();
    else if (strcmp(what, "one-sided") == 0)
        one_sided(rank, ranks);
    else if (strcmp(what, "spawn") == 0)
        spawn(argv[0], rank);
    else if (strcmp(what, "child") == 0)
        child();
    else if (strcmp(what, "partitioned") == 0)
        partitioned(rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
