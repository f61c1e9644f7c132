// Two counters on one line, an array of structures, a function that is inlined, and a heap.
#include <stdlib.h>

struct slot {
	long value;
	int state;
};

struct pool {
	long hits __attribute__((aligned(64)));
	long misses;
	union {
		int tag;
		char bytes[8];
	};
	struct slot slots[4];
	int grid[2][3];
};

struct pool pool;
static long plain;

static inline __attribute__((always_inline)) void count(long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); /* the hot line */
}

__attribute__((noinline)) void worker(void)
{
	count(&pool.hits);
}

int main(void)
{
	static int calls;
	long *heap = malloc(16);
	calls++;
	plain += calls;
	worker();
	free(heap);
	return (int)pool.misses;
}
