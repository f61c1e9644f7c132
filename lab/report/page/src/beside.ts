// Further histories in the plot of one: asks for them by range, and says what of them is drawn and described.

import type { Answers } from './answers'
import { about, day, figure, measuredBy, shortName, valueOf, type RunPages } from './commit'
import type { Value } from './csv'
import type { BesideSeries, PlacedBucket, PlacedMark } from './model'
import { relativeTo, type Across, type Spot } from './timeline'
import type { Description } from './tooltip'

/** Histories that are drawn with another one at once, as the server has it. */
export const MOST_BESIDE = 5
/** Pause before a question, while the reader still drags. */
const PAUSE_MS = 40

/** Asks for them. Only the newest question matters. */
export class BesideRanges {
  private asked: AbortController | null = null

  constructor(private readonly answers: Answers) {}

  /** The histories in a range; nothing if another question came meanwhile, or without an answer. */
  async ask(ids: string[], from: number, to: number, width: number): Promise<BesideSeries[] | null> {
    this.asked?.abort()
    const asked = new AbortController()
    this.asked = asked
    if (ids.length === 0) return []
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    if (asked.signal.aborted) return null
    const answer = await this.answers.beside(ids, from, to, width, asked.signal)
    return asked.signal.aborted ? null : answer
  }
}

/** The spots of a further history in a range, from left to right. `number`: its number in the plot. */
export function spotsBeside(series: BesideSeries, number: number, from: number, to: number, across: Across, relative: boolean): Spot[] {
  const base = relative ? series.base : 1
  const marks = series.marks.filter(({ at }) => at >= from && at <= to)
  const buckets = series.buckets.filter((bucket) => bucket.to >= from && bucket.from <= to && bucket.bucket.measured + bucket.bucket.unusable > 0)
  const spots = [...marks.map((mark) => ofMark(mark, number, across)), ...buckets.map((bucket) => ofBucket(bucket, number, across))]
  return spots.map((spot) => ({ ...spot, level: relativeTo(spot.level, base) })).sort((a, b) => a.x - b.x)
}

function ofMark({ at, mark }: PlacedMark, series: number, across: Across): Spot {
  const x = across === 'order' ? at : mark.committed_s * 1000
  return { first: at, last: at, x, level: mark.value, why: mark.why, commit: mark, bucket: null, series }
}

function ofBucket({ from, to, bucket }: PlacedBucket, series: number, across: Across): Spot {
  const x = across === 'order' ? (from + to) / 2 : ((bucket.first_s + bucket.last_s) / 2) * 1000
  return { first: from, last: to, x, level: bucket.level, why: bucket.level ? '' : 'cannot be measured', commit: null, bucket, series }
}

/** What the box says of a spot of a further history. */
export function wordsBeside(series: BesideSeries, spot: Spot, runs: RunPages): Description {
  if (spot.bucket) return ofMany(series, spot)
  const mark = spot.commit!
  const rows: Description['rows'] = [...about(mark), ...valueOf(series, mark)]
  if (!Number.isInteger(spot.first)) rows.push(['place', 'between commits of the line'])
  return { heading: shortName(mark.commit), rows: [...rows, ...measuredBy(series, mark, runs)] }
}

function ofMany(series: BesideSeries, spot: Spot): Description {
  const { first_s, last_s, measured, unusable, level } = spot.bucket!
  const rows: Description['rows'] = [['commits', `${measured} measured, ${unusable} not measurable`], ['committed', `${day(first_s)} … ${day(last_s)}`]]
  if (level) for (const [term, value] of [['median', level.median], ['lowest', level.low], ['highest', level.high]] as const) rows.push([term, figure(series, value)])
  return { heading: 'several commits', rows }
}

/** Its commits, or buckets, as rows of the sheet of the history with which it is drawn. */
export function rowsBeside(series: BesideSeries): Value[][] {
  const marks = series.marks.map(({ at, mark }) => [
    at, mark.commit, mark.committed_s, mark.value?.median ?? '', mark.value?.low ?? '', mark.value?.high ?? '', mark.value?.n ?? '', series.unit, mark.why, mark.run ?? '', '', series.name,
  ])
  const buckets = series.buckets.map(({ from, bucket: { first_s, measured, level } }) => [
    from, '', first_s, level?.median ?? '', level?.low ?? '', level?.high ?? '', measured, series.unit, '', '', '', series.name,
  ])
  return [...marks, ...buckets]
}
