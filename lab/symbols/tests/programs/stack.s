# A stack with a label at its end, and a variable far behind it.
    .globl _start
    .text
_start:
    ret

    .section .low, "aw", @nobits
boot_stack:
    .skip 4096
boot_stack_top:

    .section .high, "aw", @nobits
    .type later, @object
    .size later, 64
later:
    .skip 64

    .section .note.GNU-stack, "", @progbits
