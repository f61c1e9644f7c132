/*
 * Sends the kernel's symbols, compactly: millions of bytes of text would take the port many seconds.
 *
 * `symbols` frames hold words parted by blanks: the symbol's kind (one letter), the difference of its address to the one
 * before in hexadecimal (a leading `-` where it is lower), a capital letter for how many bytes of the name before its own name
 * begins with (A none, B one, …, at most 25), and the rest of the name.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

void symbols_send(void);

#endif
