/* Eight threads that contend: for a counter, or for a mutex that protects one.
 *
 *   contended counter | mutex */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 8, COUNTS = 20000, LOCKS = 5000 };

static _Alignas(64) atomic_long counter;
static _Alignas(64) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long guarded;

static void *count(void *unused)
{
	for (int i = 0; i < COUNTS; i++)
		atomic_fetch_add(&counter, 1);
	return unused;
}

static void *lock(void *unused)
{
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&mutex);
		guarded++;
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	void *(*work)(void *) = argc > 1 && strcmp(argv[1], "counter") == 0 ? count : lock;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
