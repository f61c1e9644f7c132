/*
 * Region marks: they mark the region of interest in the instruction stream.
 *
 * A program that includes this header executes faultline_mark_begin() where its region of interest
 * begins and faultline_mark_end() where it ends. Each mark is one instruction (two on aarch64)
 * without effect, which an observer of the instruction stream, such as an emulator's plugin,
 * recognises. Without an observer it costs less than a nanosecond.
 *
 * - x86-64 and 32-bit x86: nopl 0x00464101(%rax) begin, nopl 0x00464102(%rax) end, in 32-bit code
 *   with %eax; bytes 0f 1f 80 01 41 46 00 and 0f 1f 80 02 41 46 00. A no-operation with an operand
 *   never touches the operand's memory. Processors before the Pentium Pro lack it.
 * - aarch64: orr x9, x9, x9 then orr x10, x10, x10 (begin), and the two swapped (end); words
 *   aa090129 aa0a014a, and aa0a014a aa090129. Both leave every register unchanged, and compilers do
 *   not emit them.
 * - others: nothing. Then only the program's output shows where the region begins and ends.
 *
 * The marks also keep the compiler from moving memory accesses across them. They order nothing
 * between CPUs.
 */
#ifndef FAULTLINE_MARK_H
#define FAULTLINE_MARK_H

#if defined(__x86_64__) || defined(__i386__)
#define FAULTLINE_MARK_BEGIN_CODE ".byte 0x0f, 0x1f, 0x80, 0x01, 0x41, 0x46, 0x00"
#define FAULTLINE_MARK_END_CODE ".byte 0x0f, 0x1f, 0x80, 0x02, 0x41, 0x46, 0x00"
#elif defined(__aarch64__)
#define FAULTLINE_MARK_BEGIN_CODE ".inst 0xaa090129, 0xaa0a014a"
#define FAULTLINE_MARK_END_CODE ".inst 0xaa0a014a, 0xaa090129"
#else
#define FAULTLINE_MARK_BEGIN_CODE ""
#define FAULTLINE_MARK_END_CODE ""
#endif

static inline void faultline_mark_begin(void)
{
    __asm__ volatile(FAULTLINE_MARK_BEGIN_CODE ::: "memory");
}

static inline void faultline_mark_end(void)
{
    __asm__ volatile(FAULTLINE_MARK_END_CODE ::: "memory");
}

#endif
