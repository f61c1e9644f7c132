// Further histories in the plot of one: spots, texts, legend and CSV.

import { about, day, figure, measuredBy, type RunPages, shortName, valueOf } from './commit'
import { NAME_LETTERS } from './controls'
import { lookOfSeries, sampleOf } from './drawing'
import type { Description } from './explorer'
import { shortEnd } from './figure'
import type { BesideSeries, PlacedBucket, PlacedMark, Timeline } from './model'
import type { Value } from './saving'
import { type Across, relativeTo, type Spot } from './timeline'

/** Limit of further histories in a plot, the same as in the server. */
export const MOST_BESIDE = 5

/** Spots of a further history in a range, from left to right. `number`: its number in the plot. */
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

/** The box of a spot of a further history. */
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

/** Its commits or buckets as rows of the main history's CSV. */
export function rowsBeside(series: BesideSeries): Value[][] {
  const marks = series.marks.map(({ at, mark }) => [
    at, mark.commit, mark.committed_s, mark.value?.median ?? '', mark.value?.low ?? '', mark.value?.high ?? '', mark.value?.n ?? '', series.unit, mark.why, mark.run ?? '', '', series.name,
  ])
  const buckets = series.buckets.map(({ from, bucket: { first_s, measured, level } }) => [
    from, '', first_s, level?.median ?? '', level?.low ?? '', level?.high ?? '', measured, series.unit, '', '', '', series.name,
  ])
  return [...marks, ...buckets]
}

/**
 * Fills the legend, one line per history; empty for a single history. `page`: the address of a
 * history's page.
 */
export function fillLegend(list: HTMLElement, timeline: Timeline, others: BesideSeries[], relative: boolean, page: (id: string) => string): void {
  list.hidden = others.length === 0
  list.replaceChildren(...(others.length === 0 ? [] : [timeline, ...others].map((one, number) => entry(one, number, relative, page))))
}

function entry(one: Timeline | BesideSeries, number: number, relative: boolean, page: (id: string) => string): HTMLLIElement {
  const item = document.createElement('li')
  const name = document.createElement(number === 0 ? 'span' : 'a')
  name.textContent = shortEnd(one.name, NAME_LETTERS)
  if (name instanceof HTMLAnchorElement) name.href = page(one.id)
  const notes = [`in ${one.unit}`]
  if (number === 0) notes.push('steps and quirks belong to this history')
  if ('outside' in one && one.outside > 0) notes.push(`${one.outside} of its commits are not on this line`)
  if ('outside' in one && one.marks.length + one.buckets.length === 0) notes.push('no result in this range')
  if (relative && one.base === null) notes.push('not drawn: no first value as reference')
  item.append(sampleOf(lookOfSeries(number)), ` ${number + 1} `, name, ` – ${notes.join('; ')}`)
  return item
}
