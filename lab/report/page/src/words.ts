// Gives texts above a plot places in which none lies on another.

export type Anchor = 'start' | 'middle' | 'end'

export interface Wanted {
  /** Where the text belongs, in pixels. */
  x: number
  /** To which side of that place it stands. */
  anchor: Anchor
  /** The text, and shorter ones that may stand for it, the shortest at the end. */
  texts: string[]
}

export interface Placed {
  /** Number of its line. */
  line: number
  text: string
}

/** Pixels that a letter needs, about, and those between two texts. */
const [LETTER, BETWEEN] = [6.6, 8]
const REACH: Record<Anchor, (x: number, length: number) => [number, number]> = {
  start: (x, length) => [x, x + length],
  middle: (x, length) => [x - length / 2, x + length / 2],
  end: (x, length) => [x - length, x],
}

/** The place of each text in one of so many lines; nothing for one that has room in none, not even with its shortest text. Those that come first are placed first. */
export function placed(wanted: Wanted[], lines: number): (Placed | null)[] {
  const taken: [number, number][][] = Array.from({ length: lines }, () => [])
  return wanted.map(({ x, anchor, texts }) => {
    for (const text of texts) {
      const [left, right] = REACH[anchor](x, text.length * LETTER + BETWEEN)
      const line = taken.findIndex((there) => there.every(([from, to]) => to <= left || right <= from))
      if (line < 0) continue
      taken[line].push([left, right])
      return { line, text }
    }
    return null
  })
}
