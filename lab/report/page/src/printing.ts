// On paper everything is open; that is no choice of the reader's.

/** Details that are open for the printer only. */
export const printed = new Set<HTMLDetailsElement>()

export function wirePrint(): void {
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details:not([open])')) {
      printed.add(details)
      details.open = true
    }
  })
  addEventListener('afterprint', () => {
    for (const details of printed) details.open = false
  })
}
