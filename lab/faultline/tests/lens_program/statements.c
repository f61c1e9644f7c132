/*
 * statements noted|unnoted TASKS TURNS: each task inserts into a table of SQLite, in its own
 * in-memory database. By default, SQLite keeps memory statistics in variables shared by all
 * threads; `unnoted` turns them off (SQLITE_CONFIG_MEMSTATUS).
 */
#include "crew.h"

#include <sqlite3.h>
#include <string.h>

static long turns;
static sqlite3_stmt *insert[MOST_TASKS];

static void work(int task)
{
    for (long turn = 0; turn < turns; turn++) {
        if (sqlite3_step(insert[task]) != SQLITE_DONE)
            abort();
        sqlite3_reset(insert[task]);
    }
}

int main(int argc, char **argv)
{
    int tasks = argc == 4 ? atoi(argv[2]) : 0;

    if (tasks < 1 || tasks > MOST_TASKS)
        return 64;
    if (strcmp(argv[1], "unnoted") == 0)
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    turns = atol(argv[3]);
    for (int task = 0; task < tasks; task++) {
        sqlite3 *base;
        if (sqlite3_open(":memory:", &base) != SQLITE_OK ||
            sqlite3_exec(base, "CREATE TABLE t (number INTEGER)", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(base, "INSERT INTO t VALUES (7)", -1, &insert[task], NULL) != SQLITE_OK)
            return 1;
    }
    return crew_run(tasks);
}
