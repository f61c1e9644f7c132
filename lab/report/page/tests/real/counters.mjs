// A C program with a planted fault: counters of two threads on one cache line.

/** Two threads with a counter each. `alignment`: an attribute for separate lines, or empty. */
export const counters = (alignment) => `#include <pthread.h>
#include <stdalign.h>
struct counter {
    ${alignment} volatile long value;
};
static struct counter counters[2];
static void *work(void *argument)
{
    struct counter *own = argument;
    for (int i = 0; i < 20000; i++)
        own->value++; /* the planted line */
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, &counters[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
`
