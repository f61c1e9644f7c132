/* Sends where each CPU's own variables are: the kernel's array __per_cpu_offset, read through /proc/kcore. */
#ifndef PER_CPU_H
#define PER_CPU_H

/* `words`: the array's address in hexadecimal, the number of CPUs. */
void per_cpu_send(char **words);

#endif
