/* MPI-IO that goes on while the program does, with answers that are known beforehand. Whatever a call that completes
 * requests shows the program is compared with what MPI promises. */
#include "mpi_case.h"

#include <pthread.h>
#include <unistd.h>

static void require_null(const MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++)
        require(requests[i] == MPI_REQUEST_NULL, "a request that was completed is not null");
}

static void wait_for(MPI_Request *request, int expected)
{
    MPI_Status status;
    require(MPI_Wait(request, &status) == MPI_SUCCESS, "Wait");
    require_count(&status, expected);
    require_null(request, 1);
}

/* Every nonblocking routine once; the i-th moves 1000 i + rank elements. */
static void independent(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Offset mine = (MPI_Offset)rank * REGION_BYTES, shared = (MPI_Offset)ranks * REGION_BYTES;
    MPI_Request request;

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_iwrite(file, written, 1000 + rank, MPI_INT, &request);
    wait_for(&request, 1000 + rank);
    MPI_File_iwrite_at(file, mine + 100000, written, 2000 + rank, MPI_INT, &request);
    wait_for(&request, 2000 + rank);
    MPI_File_seek_shared(file, shared, MPI_SEEK_SET);
    MPI_File_iwrite_shared(file, written, 3000 + rank, MPI_INT, &request);
    wait_for(&request, 3000 + rank);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_iread(file, found, 1000 + rank, MPI_INT, &request);
    wait_for(&request, 1000 + rank);
    require_same(1000 + rank);
    MPI_File_iread_at(file, mine + 100000, found, 2000 + rank, MPI_INT, &request);
    wait_for(&request, 2000 + rank);
    require_same(2000 + rank);
    MPI_File_seek_shared(file, shared, MPI_SEEK_SET);
    MPI_File_iread_shared(file, found, 3000 + rank, MPI_INT, &request);
    wait_for(&request, 3000 + rank);
    MPI_File_close(&file);
}

static void collective(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Offset mine = (MPI_Offset)rank * REGION_BYTES;
    MPI_Request request;

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_iwrite_all(file, written, 1000 + rank, MPI_INT, &request);
    wait_for(&request, 1000 + rank);
    MPI_File_iwrite_at_all(file, mine + 100000, written, 2000 + rank, MPI_INT, &request);
    wait_for(&request, 2000 + rank);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_iread_all(file, found, 1000 + rank, MPI_INT, &request);
    wait_for(&request, 1000 + rank);
    require_same(1000 + rank);
    MPI_File_iread_at_all(file, mine + 100000, found, 2000 + rank, MPI_INT, &request);
    wait_for(&request, 2000 + rank);
    require_same(2000 + rank);
    MPI_File_close(&file);
}

/* The same for split collectives, some of whose statuses are ignored. */
static void split(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Offset mine = (MPI_Offset)rank * REGION_BYTES, shared = (MPI_Offset)ranks * REGION_BYTES;
    MPI_Status status;

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_write_all_begin(file, written, 1000 + rank, MPI_INT);
    MPI_File_write_all_end(file, written, &status);
    MPI_File_write_at_all_begin(file, mine + 100000, written, 2000 + rank, MPI_INT);
    MPI_File_write_at_all_end(file, written, MPI_STATUS_IGNORE);
    MPI_File_seek_shared(file, shared, MPI_SEEK_SET);
    MPI_File_write_ordered_begin(file, written, 3000 + rank, MPI_INT);
    MPI_File_write_ordered_end(file, written, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_File_seek(file, mine, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, found, 1000 + rank, MPI_INT);
    MPI_File_read_all_end(file, found, &status);
    require_count(&status, 1000 + rank);
    require_same(1000 + rank);
    MPI_File_read_at_all_begin(file, mine + 100000, found, 2000 + rank, MPI_INT);
    MPI_File_read_at_all_end(file, found, MPI_STATUS_IGNORE);
    require_same(2000 + rank);
    MPI_File_seek_shared(file, shared, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(file, found, 3000 + rank, MPI_INT);
    MPI_File_read_ordered_end(file, found, &status);
    require_count(&status, 3000 + rank);
    MPI_File_close(&file);
}

/* Ten writes, completed by each of the calls that may complete them: 1000 elements each in the first case that runs, 1001 in the next one. */
enum { BATCH = 10 };
static int batch_elements = 1000;

static void begin_batch(MPI_File file, MPI_Request *requests)
{
    for (int i = 0; i < BATCH; i++)
        MPI_File_iwrite_at(file, (MPI_Offset)i * 8000, written + i * 1000, batch_elements, MPI_INT, &requests[i]);
}

static void by_wait(MPI_Request *requests)
{
    MPI_Status status;
    for (int i = 0; i < BATCH; i++)
        require(MPI_Wait(&requests[i], i % 2 == 0 ? MPI_STATUS_IGNORE : &status) == MPI_SUCCESS, "Wait");
}

static void by_test(MPI_Request *requests)
{
    MPI_Status status;
    for (int i = 0, flag = 0; i < BATCH; i += flag)
        MPI_Test(&requests[i], &flag, i % 2 == 0 ? MPI_STATUS_IGNORE : &status);
}

static void by_waitall(MPI_Request *requests)
{
    MPI_Status statuses[BATCH];
    require(MPI_Waitall(BATCH, requests, statuses) == MPI_SUCCESS, "Waitall");
    for (int i = 0; i < BATCH; i++)
        require_count(&statuses[i], batch_elements);
}

static void by_testall(MPI_Request *requests)
{
    for (int flag = 0; !flag;)
        MPI_Testall(BATCH, requests, &flag, MPI_STATUSES_IGNORE);
}

static void by_waitany(MPI_Request *requests)
{
    MPI_Status status;
    int index;
    for (int i = 0; i < BATCH; i++)
        require(MPI_Waitany(BATCH, requests, &index, i % 2 == 0 ? MPI_STATUS_IGNORE : &status) == MPI_SUCCESS && index >= 0, "Waitany");
    require(MPI_Waitany(BATCH, requests, &index, &status) == MPI_SUCCESS && index == MPI_UNDEFINED, "Waitany of nothing");
}

static void by_testany(MPI_Request *requests)
{
    int index, flag = 0;
    for (int i = 0; i < BATCH; i += flag)
        MPI_Testany(BATCH, requests, &index, &flag, MPI_STATUS_IGNORE);
    require(MPI_Testany(BATCH, requests, &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag && index == MPI_UNDEFINED,
            "Testany of nothing");
}

static void by_waitsome(MPI_Request *requests)
{
    MPI_Status statuses[BATCH];
    int completed, indices[BATCH];
    for (int i = 0; i < BATCH; i += completed) {
        MPI_Waitsome(BATCH, requests, &completed, indices, statuses);
        for (int k = 0; k < completed; k++)
            require_count(&statuses[k], batch_elements);
    }
    require(MPI_Waitsome(BATCH, requests, &completed, indices, statuses) == MPI_SUCCESS && completed == MPI_UNDEFINED, "Waitsome of nothing");
}

static void by_testsome(MPI_Request *requests)
{
    int completed, indices[BATCH];
    for (int i = 0; i < BATCH; i += completed)
        MPI_Testsome(BATCH, requests, &completed, indices, MPI_STATUSES_IGNORE);
}

static void by_get_status(MPI_Request *requests)
{
    for (int i = 0; i < BATCH; i++) {
        for (int flag = 0; !flag;)
            MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
        require(requests[i] != MPI_REQUEST_NULL, "Request_get_status took the request");
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

static void by_free(MPI_Request *requests)
{
    for (int i = 0; i < BATCH; i++)
        require(MPI_Request_free(&requests[i]) == MPI_SUCCESS, "Request_free");
}

static void completed(const char *name, void (*complete)(MPI_Request *requests))
{
    MPI_File file = open_own_file(name);
    MPI_Request requests[BATCH];
    begin_batch(file, requests);
    complete(requests);
    require_null(requests, BATCH);
    MPI_File_close(&file);
    batch_elements++;
}

#define COMPLETED(by) static void case_##by(const char *name) { completed(name, by); }
COMPLETED(by_wait) COMPLETED(by_test) COMPLETED(by_waitall) COMPLETED(by_testall) COMPLETED(by_waitany)
COMPLETED(by_testany) COMPLETED(by_waitsome) COMPLETED(by_testsome) COMPLETED(by_free) COMPLETED(by_get_status)
#define CASE(by) { #by, case_##by }

/* I/O among requests of communication, null, and persistent ones at rest: each has the status that is its due, and the persistent ones
 * can be started again. One read of 1000 elements and one write of 100 in each of six rounds. */
static void among_messages(const char *name)
{
    enum { RECEIVE, READ, NOTHING, AT_REST, SEND, WRITE, PERSISTENT, REQUESTS };
    MPI_File file = open_own_file(name);
    MPI_Request requests[REQUESTS], at_rest, persistent;
    MPI_Status statuses[REQUESTS];
    int message[50] = { 0 }, received[50], one = 1, other = 0, flag, index, completed, indices[REQUESTS], next = (rank + 1) % ranks,
        previous = (rank + ranks - 1) % ranks;
    MPI_File_write_at(file, 0, written, 1000, MPI_INT, MPI_STATUS_IGNORE);
    MPI_Recv_init(&other, 1, MPI_INT, previous, 9, MPI_COMM_WORLD, &at_rest);
    MPI_Send_init(&one, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &persistent);
    for (int round = 0; round < 6; round++) {
        MPI_Irecv(received, 50, MPI_INT, previous, 7, MPI_COMM_WORLD, &requests[RECEIVE]);
        MPI_File_iread_at(file, 0, found, 1000, MPI_INT, &requests[READ]);
        requests[NOTHING] = MPI_REQUEST_NULL;
        requests[AT_REST] = at_rest;
        MPI_Isend(message, 40, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[SEND]);
        MPI_File_iwrite_at(file, 8000, written, 100, MPI_INT, &requests[WRITE]);
        MPI_Start(&persistent);
        requests[PERSISTENT] = persistent;
        int done = 0;
        switch (round) {
        case 0:
            require(MPI_Waitall(REQUESTS, requests, statuses) == MPI_SUCCESS, "Waitall");
            require(statuses[RECEIVE].MPI_SOURCE == previous && statuses[RECEIVE].MPI_TAG == 7, "a message's status is another's");
            require_count(&statuses[RECEIVE], 40);
            require_count(&statuses[READ], 1000);
            require_count(&statuses[WRITE], 100);
            require_count(&statuses[NOTHING], 0);
            break;
        case 1:
            require(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
            break;
        case 2:
            while (MPI_Testany(REQUESTS, requests, &index, &flag, statuses) == MPI_SUCCESS && !(flag && index == MPI_UNDEFINED))
                done += flag;
            require(done == 5, "Testany completed another number of requests");
            break;
        case 3:
            while (MPI_Waitsome(REQUESTS, requests, &completed, indices, statuses) == MPI_SUCCESS && completed != MPI_UNDEFINED)
                for (int k = 0; k < completed; k++, done++)
                    if (indices[k] != SEND && indices[k] != PERSISTENT)
                        require_count(&statuses[k], indices[k] == RECEIVE ? 40 : indices[k] == READ ? 1000 : 100);
            require(done == 5, "Waitsome completed another number of requests");
            break;
        case 4:
            while (MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS && index != MPI_UNDEFINED)
                done++;
            require(done == 5, "Waitany completed another number of requests");
            break;
        default:
            while (MPI_Testsome(REQUESTS, requests, &completed, indices, MPI_STATUSES_IGNORE) == MPI_SUCCESS && completed != MPI_UNDEFINED)
                done += completed;
            require(done == 5, "Testsome completed another number of requests");
        }
        require_same(1000);
        MPI_Recv(&other, 1, MPI_INT, rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(requests[AT_REST] == at_rest && requests[PERSISTENT] == persistent, "a persistent request is gone");
        require_null(&requests[RECEIVE], 3);
        require_null(&requests[SEND], 2);
    }
    MPI_Request_free(&at_rest);
    MPI_Request_free(&persistent);
    MPI_File_close(&file);
}

/* A file of 1000 bytes. Of 4000 asked for, the first read finds 500, the second (without a status) 300, the third none. */
static void short_reads(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_Request requests[2];
    MPI_Status status;
    int count;
    MPI_File_write_at(file, 0, written, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 500, found, 4000, MPI_BYTE, requests);
    MPI_Wait(requests, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == 500, "a short read has another count in its status than there were bytes");
    MPI_File_iread_at(file, 700, found, 4000, MPI_BYTE, requests);
    MPI_File_iread_at(file, 1000, found, 1000, MPI_INT, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_File_close(&file);
}

static void short_split_read(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_File_write_at(file, 0, written, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, 800, found, 4000, MPI_BYTE);
    MPI_File_read_at_all_end(file, found, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* More requests at once than any table of moderate size holds, none of whose statuses the program wants. */
static void many_requests(const char *name)
{
    enum { REQUESTS = 5000 };
    static MPI_Request requests[REQUESTS];
    MPI_File file = open_own_file(name);
    for (int i = 0; i < REQUESTS; i++)
        MPI_File_iwrite_at(file, (MPI_Offset)i * 40, written + i * 10, 10, MPI_INT, &requests[i]);
    require(MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "Waitall");
    require_null(requests, REQUESTS);
    MPI_File_close(&file);
}

/* A write that the program leaves alone for a quarter of a second. */
static void left_alone(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_Request request;
    MPI_File_iwrite_at(file, 0, written, 1000, MPI_INT, &request);
    usleep(250000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_write_at_all_begin(file, 4000, written, 1000, MPI_INT);
    usleep(250000);
    MPI_File_write_at_all_end(file, written, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

/* Completed behind every wrapper's back, by the names that tools use. */
static void unseen(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_Request request;
    for (int i = 0; i < 3; i++) {
        MPI_File_iwrite_at(file, 0, written, 1000, MPI_INT, &request);
        PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

/* Writing to a file that was opened to be read fails at once, or when it is waited for. */
static void errors(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_Request request = MPI_REQUEST_NULL;
    char own[4096];
    MPI_File_close(&file);
    snprintf(own, sizeof own, "%s.%d", name, rank);
    MPI_File_open(MPI_COMM_SELF, own, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    int error = MPI_File_iwrite_at(file, 0, written, 10, MPI_INT, &request);
    if (error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    require(error != MPI_SUCCESS, "a read-only file was written");
    MPI_File_close(&file);
    require(MPI_File_delete(own, MPI_INFO_NULL) == MPI_SUCCESS, "delete");
    require(MPI_File_delete(own, MPI_INFO_NULL) != MPI_SUCCESS, "a missing file was deleted");
}

static void attributes(const char *name)
{
    MPI_File file = open_file(MPI_COMM_WORLD, name, TO_READ_AND_WRITE);
    MPI_Offset size = 0;
    MPI_File_set_size(file, 5000);
    MPI_File_preallocate(file, 8000);
    /* The standard lets a rank return from preallocating before another has made the file longer; Open MPI does so. */
    MPI_Barrier(MPI_COMM_WORLD);
    require(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == 8000, "get_size");
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    MPI_File_set_atomicity(file, 0);
    MPI_File_get_position_shared(file, &size);
    require(size == 0, "get_position_shared");
    MPI_File_close(&file);
}

static void *write_often(void *name)
{
    MPI_File file = open_file(MPI_COMM_SELF, name, TO_READ_AND_WRITE);
    MPI_Request requests[4];
    for (int i = 0; i < 500; i++) {
        for (int k = 0; k < 4; k++)
            MPI_File_iwrite_at(file, k * 400, written, 100, MPI_INT, &requests[k]);
        if (i % 2 == 0)
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 4 && i % 2 == 1; k++)
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        require_null(requests, 4);
    }
    MPI_File_close(&file);
    return NULL;
}

/* Four threads at once, each with a file and requests of its own; MPI gives a number that one thread is done with to another. */
static void threads(const char *name)
{
    pthread_t thread[4];
    char own[4][4096];
    /* One thread opens the first file: MPICH 4.0 sets its MPI-IO up at the first one, and two that do so at once get in each other's way. */
    MPI_File first = open_file(MPI_COMM_SELF, name, TO_READ_AND_WRITE);
    MPI_File_close(&first);
    for (int i = 0; i < 4; i++) {
        snprintf(own[i], sizeof own[i], "%s.%d.%d", name, rank, i);
        pthread_create(&thread[i], NULL, write_often, own[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

/* Addresses in the datatype instead of a buffer, and a datatype that is freed before the write is complete: 100 and 50 elements. */
static void bottom(const char *name)
{
    MPI_File file = open_own_file(name);
    MPI_Request request;
    MPI_Datatype parts;
    MPI_Aint at[2];
    MPI_Get_address(written, &at[0]);
    MPI_Get_address(written + 100, &at[1]);
    MPI_Type_create_hindexed(2, (int[]){ 100, 50 }, at, MPI_INT, &parts);
    MPI_Type_commit(&parts);
    MPI_File_iwrite_at(file, 0, MPI_BOTTOM, 1, parts, &request);
    MPI_Type_free(&parts);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, 0, found, 150, MPI_INT, MPI_STATUS_IGNORE);
    require_same(150);
    MPI_File_close(&file);
}

/* Counts as wide as a file: MPI 4's functions. */
static void large_counts(const char *name)
{
#if MPI_VERSION >= 4
    MPI_File file = open_own_file(name);
    MPI_Request request;
    MPI_File_iwrite_at_c(file, 0, written, (MPI_Count)1000, MPI_INT, &request);
    wait_for(&request, 1000);
    MPI_File_write_at_all_begin_c(file, 4000, written, (MPI_Count)2000, MPI_INT);
    MPI_File_write_at_all_end(file, written, MPI_STATUS_IGNORE);
    MPI_File_iread_c(file, found, (MPI_Count)4000, MPI_INT, &request);
    wait_for(&request, 3000);
    MPI_File_close(&file);
#else
    (void)name;
    require(0, "this MPI has no large counts");
#endif
}

static const struct mpi_case cases[] = {
    { "independent", independent }, { "collective", collective }, { "split", split },
    { "among_messages", among_messages }, { "short_reads", short_reads }, { "short_split_read", short_split_read }, { "many_requests", many_requests },
    { "left_alone", left_alone },       { "unseen", unseen },       { "errors", errors },
    { "attributes", attributes },       { "threads", threads },     { "large_counts", large_counts },
    { "bottom", bottom },
    CASE(by_wait), CASE(by_test), CASE(by_waitall), CASE(by_testall), CASE(by_waitany),
    CASE(by_testany), CASE(by_waitsome), CASE(by_testsome), CASE(by_free), CASE(by_get_status),
};

MAIN_OF(cases)
