// Which spots of a history the line joins: neighbours by a solid line, others by a dotted one if nothing was tried between them, and none across commits that
// cannot be measured.

import type { BesideSeries, Timeline } from './model'
import type { Spot } from './timeline'

/** How two spots with values are joined. */
type Join = 'solid' | 'dotted' | 'none'

/** Spots in a row that a line joins. */
export interface Piece {
  spots: Spot[]
  dotted: boolean
}

/** What lies at the places of a history, in the order of positions. */
export interface Cells {
  firsts: number[]
  /** Number of places before each that cannot be measured, and that have no result. */
  unusable: number[]
  empty: number[]
}

/** The pieces of the line. `levels`: the spots with a value, from left to right. */
export function piecesOf(cells: Cells, levels: Spot[]): Piece[] {
  const pieces: Piece[] = []
  let solid: Spot[] = []
  levels.forEach((spot, index) => {
    const join = index === 0 ? 'none' : joinOf(cells, levels[index - 1], spot)
    if (join !== 'solid') {
      if (solid.length > 0) pieces.push({ spots: solid, dotted: false })
      if (join === 'dotted') pieces.push({ spots: [levels[index - 1], spot], dotted: true })
      solid = []
    }
    solid.push(spot)
  })
  return solid.length > 0 ? [...pieces, { spots: solid, dotted: false }] : pieces
}

/** Those of a timeline. */
export function cellsOf(timeline: Timeline): Cells {
  const cells = noCells()
  if (timeline.buckets.length > 0) for (const bucket of timeline.buckets) add(cells, bucket.first, bucket.level !== null, bucket.unusable > 0)
  else for (const mark of timeline.marks) add(cells, mark.position, mark.value !== null, mark.why !== '')
  return cells
}

/** Those of another history, at its places on the line. Only whether commits without a result lie between two others is known of them. */
export function cellsBeside(series: BesideSeries): Cells {
  const cells = noCells()
  for (const { from, bucket } of series.buckets) add(cells, from, bucket.level !== null, bucket.unusable > 0)
  for (const { at, is_after_gap, mark } of series.marks) {
    if (is_after_gap) add(cells, ((cells.firsts.at(-1) ?? at) + at) / 2, false, false)
    add(cells, at, mark.value !== null, mark.why !== '')
  }
  return cells
}

function noCells(): Cells {
  return { firsts: [], unusable: [0], empty: [0] }
}

function add(cells: Cells, first: number, hasValue: boolean, isUnusable: boolean): void {
  cells.firsts.push(first)
  cells.unusable.push(cells.unusable.at(-1)! + (!hasValue && isUnusable ? 1 : 0))
  cells.empty.push(cells.empty.at(-1)! + (!hasValue && !isUnusable ? 1 : 0))
}

/** By date commits may lie in another order than on their line; what lies between is that between their positions. */
function joinOf(cells: Cells, a: Spot, b: Spot): Join {
  const [from, to] = a.first < b.first ? [a, b] : [b, a]
  const [begin, end] = [indexOf(cells.firsts, from.first) + 1, indexOf(cells.firsts, to.first)]
  if (cells.unusable[end] > cells.unusable[begin]) return 'none'
  return cells.empty[end] > cells.empty[begin] ? 'dotted' : 'solid'
}

/** The place of a number in an ascending list that has it. */
function indexOf(ascending: number[], wanted: number): number {
  let [low, high] = [0, ascending.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ascending[middle] < wanted) low = middle + 1
    else high = middle
  }
  return low
}
