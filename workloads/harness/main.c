/* The entry point of each workload program; the build names the workload in WORKLOAD. */
#include "harness.h"

extern const struct workload WORKLOAD;

int main(int argc, char **argv)
{
    return harness_main(&WORKLOAD, argc, argv);
}
