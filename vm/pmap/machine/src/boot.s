# From the loader's entry (PVH: 32 bits, no paging) to 64 bits, on both CPUs; traps; probes.

.section .note.Xen, "a", @note
.align 4
.long 4, 4, 18
.asciz "Xen"
.long start32

.section .text.boot, "ax"
.code32
.global start32
start32:
    cli
    movl $stack0 + 65536, %esp
    movl %ebx, boot_information
    xorl %ebp, %ebp
    jmp enter64
second32:
    movw $0x10, %ax
    movw %ax, %ss
    movl $stack1 + 65536, %esp
    movl $1, %ebp
enter64:
    lgdtl gdt_pointer
    movw $0x10, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    # PAE and global pages; with 5 levels also LA57.
    movl %cr4, %eax
    orl $0xa0, %eax
    movl $boot_root, %ecx
.if {levels} == 5
    orl $0x1000, %eax
    movl $boot_root_above, %ecx
.endif
    movl %eax, %cr4
    movl %ecx, %cr3
    # EFER: long mode, no-execute.
    movl $0xc0000080, %ecx
    rdmsr
    orl $0x900, %eax
    wrmsr
    # Paging, write protection in kernel mode.
    movl %cr0, %eax
    orl $0x80010001, %eax
    movl %eax, %cr0
    ljmpl $0x18, $start64
.code64
start64:
    movl %ebp, %edi
    xorl %ebp, %ebp
    call begin
    ud2

# Copied to 0x8000, where the second CPU begins in real mode.
.code16
.global trampoline
trampoline:
    cli
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl 0x8000 + (trampoline_gdt - trampoline)
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $0x8, $second32_segments
trampoline_gdt:
    .word 31
    .long gdt
.global trampoline_end
trampoline_end:
.code32
second32_segments:
    movw $0x10, %ax
    movw %ax, %ds
    jmp second32

.code64
.macro save
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
.endm
.macro restore
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
.endm

.global page_fault_entry
page_fault_entry:
    save
    movq 72(%rsp), %rdi
    leaq 80(%rsp), %rsi
    subq $8, %rsp
    call page_fault
    addq $8, %rsp
    restore
    addq $8, %rsp
    iretq

.global shoot_entry
shoot_entry:
    save
    call answer
    restore
    iretq

.global unexpected_entry
unexpected_entry:
    movq (%rsp), %rdi
    movq 8(%rsp), %rsi
    andq $-16, %rsp
    call unexpected
    ud2

# An access that may fault for good: then -1 is returned.
.global probe_read
probe_read:
    movzbl (%rdi), %eax
    ret
.global probe_write
probe_write:
    movb %sil, (%rdi)
    xorl %eax, %eax
    ret
.global probe_fetch
probe_fetch:
    call *%rdi
    xorl %eax, %eax
    ret
.global probe_fetch_failed
probe_fetch_failed:
    addq $8, %rsp
.global probe_failed
probe_failed:
    movl $-1, %eax
    ret

.section .data.boot, "aw"
.align 4096
boot_root:
    .quad boot_gibs + 3
    .zero 4088
boot_root_above:
    .quad boot_root + 3
    .zero 4088
# 4 GiB, each at its physical address.
boot_gibs:
    .quad 0x83, 0x40000083, 0x80000083, 0xc0000083
    .zero 4064
.align 8
.global boot_information
boot_information:
    .quad 0
gdt:
    .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff, 0x00af9a000000ffff
gdt_pointer:
    .word 31
    .long gdt

.section .bss.boot, "aw", @nobits
.align 4096
stack0:
    .zero 65536
stack1:
    .zero 65536
