// Spots of a history: commits or buckets in a range, the line that joins them, and movement by
// arrow keys.

import type { Arrow } from './explorer'
import type { BesideSeries, Bucket, CommitMark, Timeline } from './model'

export type Across = 'order' | 'date'

/** A commit, or several consecutive ones. */
export interface Spot {
  /** First and last position. */
  first: number
  last: number
  /** The place on the axis: a position, or milliseconds since 1970. */
  x: number
  /** Median and ends of the interval or range; `null` without a value. */
  level: { low: number; median: number; high: number } | null
  /** The reason for a missing value; empty if it was not measured. */
  why: string
  commit: CommitMark | null
  bucket: Bucket | null
  /** The number of its history in the plot: 0 is the page's history. */
  series: number
}

export function isTimeline(data: { format: string }): data is Timeline {
  return data.format === 'faultline-timeline/1'
}

/** The level relative to a base. */
export function relativeTo(level: Spot['level'], base: number | null): Spot['level'] {
  return level && base ? { low: level.low / base, median: level.median / base, high: level.high / base } : null
}

/** The spots of a range: commits with a result, or buckets. */
export function spotsOf(timeline: Timeline, from: number, to: number, across: Across): Spot[] {
  const within = (first: number, last: number) => last >= from && first <= to
  const commits = timeline.marks.filter((mark) => within(mark.position, mark.position) && (mark.value !== null || mark.why !== ''))
  const buckets = timeline.buckets.filter((bucket) => within(bucket.first, bucket.last) && bucket.measured + bucket.unusable > 0)
  return [...commits.map((mark) => ofCommit(mark, across)), ...buckets.map((bucket) => ofBucket(bucket, across))].sort((a, b) => a.x - b.x)
}

function ofCommit(mark: CommitMark, across: Across): Spot {
  return {
    first: mark.position,
    last: mark.position,
    x: across === 'order' ? mark.position : mark.committed_s * 1000,
    level: mark.value,
    why: mark.why,
    commit: mark,
    bucket: null,
    series: 0,
  }
}

function ofBucket(bucket: Bucket, across: Across): Spot {
  return {
    first: bucket.first,
    last: bucket.last,
    x: across === 'order' ? (bucket.first + bucket.last) / 2 : ((bucket.first_s + bucket.last_s) / 2) * 1000,
    level: bucket.level,
    why: bucket.level ? '' : 'cannot be measured',
    commit: null,
    bucket,
    series: 0,
  }
}

/** The place of a position on the axis: by date, that of the nearest spot. */
export function placeOf(position: number, spots: Spot[], across: Across): number {
  if (across === 'order') return position
  const distance = (spot: Spot) => Math.max(spot.first - position, position - spot.last, 0)
  return spots.reduce((nearest, spot) => (distance(spot) < distance(nearest) ? spot : nearest)).x
}

/** The join of two spots with values. */
type Join = 'solid' | 'dotted' | 'none'

/** Consecutive spots that a line joins. */
export interface Piece {
  spots: Spot[]
  dotted: boolean
}

/** The content of a history's positions, in order. */
export interface Cells {
  firsts: number[]
  /** Number of unmeasurable positions, and of positions without a result, before each index. */
  unusable: number[]
  empty: number[]
}

/** The pieces of the line. `levels`: spots with a value, from left to right. */
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

/** The content of a timeline. */
export function cellsOf(timeline: Timeline): Cells {
  const cells = noCells()
  if (timeline.buckets.length > 0) for (const bucket of timeline.buckets) add(cells, bucket.first, bucket.level !== null, bucket.unusable > 0)
  else for (const mark of timeline.marks) add(cells, mark.position, mark.value !== null, mark.why !== '')
  return cells
}

/**
 * The content of a further history. Only the existence of commits without a result between two
 * others is known.
 */
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

/** Spots by date may be in another order than their positions. */
function joinOf(cells: Cells, a: Spot, b: Spot): Join {
  const [from, to] = a.first < b.first ? [a, b] : [b, a]
  const [begin, end] = [indexOf(cells.firsts, from.first) + 1, indexOf(cells.firsts, to.first)]
  if (cells.unusable[end] > cells.unusable[begin]) return 'none'
  return cells.empty[end] > cells.empty[begin] ? 'dotted' : 'solid'
}

/** The index of a number in an ascending list. */
function indexOf(ascending: number[], wanted: number): number {
  let [low, high] = [0, ascending.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ascending[middle] < wanted) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Left and right move along a history, up and down to the nearest spot of the previous or next one
 * in the legend.
 */
export function neighbour(spots: Spot[], index: number, arrow: Arrow): number {
  const at = spots[index]
  const isOf = (series: number) => (spot: Spot) => spot.series === series
  if (arrow === 'ArrowRight') {
    const next = spots.findIndex((spot, place) => place > index && spot.series === at.series)
    return next < 0 ? index : next
  }
  if (arrow === 'ArrowLeft') {
    const before = spots.findLastIndex((spot, place) => place < index && spot.series === at.series)
    return before < 0 ? index : before
  }
  const by = arrow === 'ArrowUp' ? -1 : 1
  const last = Math.max(...spots.map((spot) => spot.series))
  for (let series = at.series + by; series >= 0 && series <= last; series += by) {
    const there = spots.filter(isOf(series))
    if (there.length > 0) return spots.indexOf(there.reduce((nearest, spot) => (Math.abs(spot.x - at.x) < Math.abs(nearest.x - at.x) ? spot : nearest)))
  }
  return index
}
