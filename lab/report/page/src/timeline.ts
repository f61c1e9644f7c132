// A range of a history as spots from left to right: commits, or several together. Computes nothing that its figures do not say.

import type { Bucket, CommitMark, Timeline } from './model'

export type Across = 'order' | 'date'

/** A commit, or several in a row. */
export interface Spot {
  /** First and last position. */
  first: number
  last: number
  /** Its place on the axis: a position, or milliseconds since 1970. */
  x: number
  /** Median, and the ends of the interval or of the range; nothing without a value. */
  level: { low: number; median: number; high: number } | null
  /** Why there is no value; empty where it was not tried. */
  why: string
  commit: CommitMark | null
  bucket: Bucket | null
  /** The number of its history in the plot: 0 is the one of the page. */
  series: number
}

export function isTimeline(data: { format: string }): data is Timeline {
  return data.format === 'faultline-timeline/1'
}

/** The level in relation to a value; nothing without either. */
export function relativeTo(level: Spot['level'], base: number | null): Spot['level'] {
  return level && base ? { low: level.low / base, median: level.median / base, high: level.high / base } : null
}

/** The spots of a range: commits that have a result, or buckets. */
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

/** Where a position is on the axis: by date, that of the spot that has it or is nearest to it. */
export function placeOf(position: number, spots: Spot[], across: Across): number {
  if (across === 'order') return position
  const distance = (spot: Spot) => Math.max(spot.first - position, position - spot.last, 0)
  return spots.reduce((nearest, spot) => (distance(spot) < distance(nearest) ? spot : nearest)).x
}
