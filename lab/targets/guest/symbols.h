/*
 * Data of the guest's kernel: its symbols, and the locations of each CPU's own variables. Symbols
 * are sent in a compact form: megabytes of text would take many seconds through the port.
 *
 * `symbols` frames contain words separated by blanks: the symbol's kind (one letter), the
 * difference of its address to the previous one in hexadecimal (with a leading `-` if it is lower),
 * a capital letter for the number of bytes of the previous name with which its own name begins (A
 * none, B one, …, at most 25), and the rest of the name.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

/* Sends all symbols. */
void symbols_send(void);

/*
 * Sends the kernel's array __per_cpu_offset, read through /proc/kcore. `words`: the array's address
 * in hexadecimal, the number of CPUs.
 */
void per_cpu_send(char **words);

#endif
