// Where two commits of a history are compared: on a page that the server makes of any two, or on one of those that are there as files.

/** A commit with its position; nothing for the position if it is not known. */
export interface Place {
  commit: string
  position: number | null
}

/** The page on which `b` is compared with `a`. */
export interface Comparison {
  href: string
  /** Whether `a` is side B there: pages that are files begin with the older commit. */
  isTurned: boolean
}

/** Finds the page on which `b` is compared with `a`; nothing if there is none. */
export type Comparisons = (a: Place, b: Place) => Comparison | null

/** The page on which a commit of one history is compared with one of another; nothing in pages that are files. Each is HISTORY@COMMIT. */
export function acrossOf(figure: HTMLElement): (a: [history: string, commit: string], b: [history: string, commit: string]) => string | null {
  const { across } = figure.dataset
  return (a, b) => (across === undefined ? null : `${across}?a=${encodeURIComponent(a.join('@'))}&b=${encodeURIComponent(b.join('@'))}`)
}

/** The comparisons to which a plot leads. */
export function comparisonsOf(figure: HTMLElement): Comparisons {
  const { compare = '', pairs } = figure.dataset
  if (pairs === undefined) return (a, b) => ({ href: `${compare}?a=${encodeURIComponent(a.commit)}&b=${encodeURIComponent(b.commit)}`, isTurned: false })
  const there = new Set(pairs.split(' '))
  return (a, b) => {
    if (a.position === null || b.position === null) return null
    const isTurned = a.position > b.position
    const pair = isTurned ? `${b.position}-${a.position}` : `${a.position}-${b.position}`
    return there.has(pair) ? { href: `${compare}/${pair}.html`, isTurned } : null
  }
}
