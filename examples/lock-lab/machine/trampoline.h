/* Where further CPUs begin: the beginning of a page below 1 MiB that firmware leaves free. */
#define TRAMPOLINE 0x8000
