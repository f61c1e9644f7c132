/* Traps at the end of a chain of calls, and prints its registers in the order of their DWARF
   numbers, the instruction, and its stack. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define WORDS 1024

static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
			    REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

static char handlers_stack[64 * 1024];

static void trapped(int number, siginfo_t *info, void *context)
{
	const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned long *stack = (const unsigned long *)registers[REG_RSP];

	(void)number;
	(void)info;
	for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++)
		printf("%llx\n", (unsigned long long)registers[order[i]]);
	for (int i = 0; i < WORDS; i++)
		printf("%lx\n", stack[i]);
	exit(0);
}

static inline __attribute__((always_inline)) void trap(void)
{
	__asm__ volatile("int3");
}

static __attribute__((noinline)) void inner(void)
{
	trap();
	__asm__ volatile("");
}

/* A frame whose size is not known beforehand. */
static __attribute__((noinline)) void middle(int bytes)
{
	volatile char room[bytes];

	room[0] = 0;
	inner();
	room[bytes - 1] = 0;
}

static __attribute__((noinline)) int by_pointer(const void *one, const void *other)
{
	(void)one;
	(void)other;
	middle(100);
	return 0;
}

int main(void)
{
	stack_t own = {.ss_sp = handlers_stack, .ss_size = sizeof handlers_stack};
	struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	/* Room above the frames, so that all words that are printed are there. */
	volatile char above[8 * WORDS];
	int sorted[2] = {1, 2};

	above[0] = 0;
	sigaltstack(&own, NULL);
	sigaction(SIGTRAP, &action, NULL);
	qsort(sorted, 2, sizeof sorted[0], by_pointer);
	return above[0];
}
