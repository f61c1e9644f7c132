# A 32-bit program: adds to a word of its own, with a lock and without another thread, and ends.
.bss
word: .skip 4
.text
.globl _start
_start:
    mov $10000, %ecx
again:
    lock incl word
    loop again
    mov $1, %eax
    xor %ebx, %ebx
    int $0x80
.section .note.GNU-stack, "", @progbits
