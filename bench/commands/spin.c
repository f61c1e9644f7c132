// A command whose work is known: adds numbers, a thousand to a step, and touches a page for every
// tenth step.
//
//   spin STEPS      does so many steps
//   spin            prints how many steps take 25 ms here
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ADDITIONS_PER_STEP = 1000, STEPS_PER_PAGE = 10, PAGE_BYTES = 4096, PAGES = 256 };

static volatile unsigned char pages[PAGES * PAGE_BYTES];

static uint64_t work(long steps)
{
    uint64_t sum = 1;
    for (long step = 0; step < steps; step++) {
        for (int i = 0; i < ADDITIONS_PER_STEP; i++)
            sum = sum * 6364136223846793005u + 1442695040888963407u;
        if (step % STEPS_PER_PAGE == 0)
            pages[(size_t)(step / STEPS_PER_PAGE % PAGES) * PAGE_BYTES] = (unsigned char)sum;
    }
    return sum;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long steps_in_25_ms(void)
{
    enum { TRIED = 20000, TIMES = 7 };
    double shortest_s = 1e9;
    for (int time = 0; time < TIMES; time++) {
        double began_s = now_s();
        work(TRIED);
        double took_s = now_s() - began_s;
        if (took_s < shortest_s)
            shortest_s = took_s;
    }
    return (long)(TRIED * 0.025 / shortest_s);
}

int main(int count, char **arguments)
{
    if (count > 1)
        work(atol(arguments[1]));
    else
        printf("%ld\n", steps_in_25_ms());
    return 0;
}
