/*
 * The first instructions of each CPU. A Multiboot loader starts the first CPU at `start`, in 32-bit
 * mode. It copies the code from `further` on to TRAMPOLINE, where the others begin in 16-bit mode
 * (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, "Multiple-Processor
 * Initialization").
 */
#include "trampoline.h"

#define MAGIC 0x1badb002
#define CODE 8
#define DATA 16

        .section .multiboot, "a"
        .align 4
        .long MAGIC, 0, -MAGIC

        .text
        .code32
        .globl start
start:  cli
        lgdt gdt_pointer
        ljmp $CODE, $1f
1:      mov $DATA, %ax
        mov %ax, %ds
        mov %ax, %es
        mov %ax, %ss
        mov $first_stack_top, %esp
        xor %ebp, %ebp
        push %ebx
        push $0
        jmp begin

        .globl further, further_end
        .code16
further:
        cli
        xor %ax, %ax
        mov %ax, %ds
        lgdtl TRAMPOLINE + (further_gdt_pointer - further)
        mov $1, %eax
        mov %eax, %cr0
        ljmpl $CODE, $further_32
        .align 4
further_gdt_pointer:
        .word gdt_end - gdt - 1
        .long gdt
further_end:

        .code32
further_32:
        mov $DATA, %ax
        mov %ax, %ds
        mov %ax, %es
        mov %ax, %ss
        mov next_stack, %esp
        xor %ebp, %ebp
        push $0
        jmp begin_further

        .data
        .align 8
gdt:    .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdt_end:
gdt_pointer:
        .word gdt_end - gdt - 1
        .long gdt

        .bss
        .align 16
        .skip 16384
first_stack_top:
