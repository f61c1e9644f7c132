// What is said of a commit of a history, or of several together: in the box beside the plot, and in the file with its data.

import type { Comparisons, Place } from './comparing'
import type { Sheet } from './csv'
import { percent, quantity, span } from './figure'
import type { CommitMark, Estimate, FilesNamed, Timeline } from './model'
import { oneLine, shortEnd } from './shorten'
import type { Spot } from './timeline'
import type { Description, Linked } from './tooltip'

/** Digits of a commit's name. */
const DIGITS = 12
export const LETTERS = 140
/** Files that are named, and letters of each. */
const [FILES, FILE_LETTERS] = [3, 60]

/** The coverage that an interval needs, so that values outside it differ: that of six executions. */
const LEAST_COVERAGE = 0.95

export function shortName(commit: string): string {
  return commit.slice(0, DIGITS)
}

export function day(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10)
}

/** What values are written with. */
type Measured = Pick<Timeline, 'is_exact' | 'unit'>

/** A value with its unit; a count as it is. */
export function figure(timeline: Measured, value: number): string {
  return timeline.is_exact ? String(value) : quantity(value, timeline.unit)
}

export function interval(timeline: Measured, mark: CommitMark): string {
  return mark.value && !timeline.is_exact ? span(mark.value.low, mark.value.high, mark.value.median, timeline.unit) : ''
}

/** What the box says. `runs`: what leads to the page of a run, before and after its number. */
export function words(timeline: Timeline, spot: Spot, runs: RunPages, compare: Comparing): Description {
  return spot.commit ? ofCommit(timeline, spot.commit, runs, compare) : ofBucket(timeline, spot)
}

/** Where two commits of the history are compared, and the one that the reader has chosen as side A. */
export interface Comparing {
  comparisons: Comparisons
  side: string
  /** The position of the chosen one, as far as it is known. */
  sideAt: number | null
}

function ofCommit(timeline: Timeline, mark: CommitMark, runs: RunPages, compare: Comparing): Description {
  const rows: Description['rows'] = [...about(mark), ...valueOf(timeline, mark)]
  if (mark.value) {
    const change = changeAt(timeline, mark)
    if (change) rows.push(['Δ to the previous', change])
  }
  const step = timeline.steps.find((step) => step.by === mark.position)
  if (step) rows.push(['step', `${step.change}, ${step.what}`])
  if (step?.state) rows.push(['state', [step.state, ...step.said.map((line) => shortEnd(oneLine(line), LETTERS))].join('; ')])
  const letters = mark.run === null ? [] : timeline.quirks.filter(({ ranges }) => ranges.some(([first, last]) => first <= mark.position && mark.position <= last)).map(({ letter }) => letter)
  if (letters.length > 0) rows.push([letters.length === 1 ? 'quirk' : 'quirks', letters.join(', ')])
  return { heading: shortName(mark.commit), rows: [...rows, ...measuredBy(timeline, mark, runs), ...comparisons(timeline, mark, compare)] }
}

/** What leads to the parts of the comparison with the measured commit before: what else is known of the change. */
function partsOf(timeline: Timeline, mark: CommitMark, before: CommitMark, href: string): Linked[] {
  const part = (text: string, id: string) => ({ text, href: `${href}#${id}` })
  const between = mark.position - before.position === 1 ? [] : [part(`${mark.position - before.position} commits since`, 'between')]
  const hasStep = timeline.steps.some(({ by }) => by > before.position && by <= mark.position)
  const artefacts = hasStep ? [part('files and artefacts', 'steps')] : []
  if (!mark.value) return [part('all that was said last', 'sides'), ...between]
  const moved = timeline.is_exact ? part('lines and code that moved', 'counts') : part('counters and distributions', 'workloads')
  return [...between, moved, ...artefacts]
}

/** What leads to the page of a run, before and after its number; and to the raw executions of one of its subjects, between both numbers and after them. */
export interface RunPages {
  before: string
  after: string
  executions: string
}

/** The run that has its result, with its raw executions, which have samples, output, and the console of a guest; and the host. */
export function measuredBy({ host }: Pick<Timeline, 'host'>, { run, executed_as: subject }: CommitMark, { before, after, executions }: RunPages): Description['rows'] {
  if (run === null) return []
  const raw = subject === null ? [] : [{ text: 'raw executions', href: `${before}${run}${executions}${subject}` }]
  const rows: Description['rows'] = [['measured by', [{ text: `run ${run}`, href: `${before}${run}${after}` }, ...raw]]]
  return host === null ? rows : [...rows, ['host', shortEnd(oneLine(host), LETTERS)]]
}

/** What leads to the comparison with the measured commit before, and with any other one. */
function comparisons(timeline: Timeline, mark: CommitMark, { comparisons, side, sideAt }: Comparing): Description['rows'] {
  const row = (text: string, a: Place, parts: (href: string) => Linked[]): Description['rows'][number] => {
    const found = comparisons(a, mark)
    if (!found) return ['compare', `${text}: not in these pages`]
    return ['compare', [{ text: found.isTurned ? `${text}, the older one as A` : text, href: found.href }, ...parts(found.href)]]
  }
  const rows: Description['rows'] = []
  const before = previousOf(timeline, mark)
  if (before) rows.push(row(`with the previous one, ${shortName(before.commit)}`, before, (href) => partsOf(timeline, mark, before, href)))
  if (side && side !== mark.commit) rows.push(row(`with side A, ${shortName(side)}`, { commit: side, position: sideAt }, () => []))
  rows.push(side === mark.commit ? ['side A', 'pin another commit to compare it with this one'] : ['side A', { text: 'choose this commit', href: `#a=${encodeURIComponent(mark.commit)}` }])
  return rows
}

/** The measured commit before one. */
function previousOf(timeline: Timeline, mark: CommitMark): CommitMark | undefined {
  return timeline.marks.findLast((other) => other.position < mark.position && other.value !== null)
}

/** What is said of any commit. */
export function about(mark: CommitMark): Description['rows'] {
  return [
    ['subject', shortEnd(oneLine(mark.subject), LETTERS)],
    ['author', shortEnd(oneLine(mark.author), LETTERS)],
    ['committed', day(mark.committed_s)],
    ...(mark.files ? [['files', filesOf(mark.files)] as [string, string]] : []),
  ]
}

/** The files that a commit changed, by name as far as they are known. */
function filesOf({ number, most }: FilesNamed): string {
  if (number === 0) return 'none'
  const named = most.slice(0, FILES).map((file) => shortEnd(oneLine(file), FILE_LETTERS))
  const left = number - named.length
  return `${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

/** How many executions in how many boots a value comes from. */
function executions({ boots, value }: CommitMark): string {
  const n = String(value?.n ?? 0)
  const different = new Set(boots).size
  return different < 2 ? n : `${n} executions in ${different} boots`
}

/** Its value with interval and number of executions, or why it has none; and its values in random layouts. */
export function valueOf(series: Measured, mark: CommitMark): Description['rows'] {
  if (!mark.value) return [['result', mark.why], ...(mark.message ? [['it said', mark.message] as [string, string]] : [])]
  const { median, coverage } = mark.value
  if (series.is_exact) return [['count', `${figure(series, median)}, lower is better`], ...inLayouts(series, mark)]
  return [['median', `${figure(series, median)}, lower is better`], [`${percent(coverage)} interval`, interval(series, mark)], ['n', executions(mark)], ...inLayouts(series, mark)]
}

/** The lowest and the highest value in random layouts, each with its layout. */
function inLayouts(series: Measured, { layout_values: values, layouts }: CommitMark): Description['rows'] {
  if (values.length === 0) return []
  const at = (value: number) => `${figure(series, value)} (layout ${layouts[values.indexOf(value)]})`
  const different = new Set(layouts).size
  return [[different === 1 ? '1 random layout' : `${different} random layouts`, `${at(Math.min(...values))} … ${at(Math.max(...values))}`]]
}

/** By how much its median differs from that of the measured commit before it. */
function changeAt(timeline: Timeline, mark: CommitMark): string | null {
  const before = previousOf(timeline, mark)
  if (!before?.value || !mark.value || before.value.median === 0) return null
  const change = mark.value.median / before.value.median - 1
  if (timeline.is_exact && change === 0) return 'none: the same count'
  const direction = isClear(timeline, before.value, mark.value) ? (change > 0 ? 'worse' : 'better') : 'inconclusive'
  return `${change > 0 ? '+' : ''}${(change * 100).toFixed(1)} %, ${direction}; a single commit's, not a step's`
}

/** Whether two values differ beyond their intervals, or exactly. Intervals of too few executions cover too little. */
function isClear(timeline: Timeline, before: Estimate, now: Estimate): boolean {
  if (timeline.is_exact) return before.median !== now.median
  const areKnown = Math.min(before.coverage, now.coverage) >= LEAST_COVERAGE
  return areKnown && (before.high < now.low || now.high < before.low)
}

function ofBucket(timeline: Timeline, spot: Spot): Description {
  const bucket = spot.bucket!
  const rows: Description['rows'] = [
    ['commits', `${bucket.last - bucket.first + 1}: ${bucket.measured} measured, ${bucket.unusable} not measurable`],
    ['committed', `${day(bucket.first_s)} … ${day(bucket.last_s)}`],
  ]
  if (bucket.level) {
    rows.push(['median', figure(timeline, bucket.level.median)])
    rows.push(['lowest', `${figure(timeline, bucket.level.low)}, at position ${bucket.level.low_at}`])
    rows.push(['highest', `${figure(timeline, bucket.level.high)}, at position ${bucket.level.high_at}`])
  }
  return { heading: `positions ${bucket.first} … ${bucket.last}`, rows }
}

/** The data behind the plot of one history. */
export function sheetOf(timeline: Timeline): Sheet {
  if (timeline.marks.length > 0) {
    return {
      head: ['position', 'commit', 'committed_s', 'median', 'low', 'high', 'n', 'unit', 'unusable', 'run', 'values', 'layouts', 'values_in_layouts'],
      rows: timeline.marks.map((mark) => [
        mark.position, mark.commit, mark.committed_s, mark.value?.median ?? '', mark.value?.low ?? '', mark.value?.high ?? '', mark.value?.n ?? '', timeline.unit, mark.why, mark.run ?? '',
        mark.values.join(';'), mark.layouts.join(';'), mark.layout_values.join(';'),
      ]),
    }
  }
  return {
    head: ['first', 'last', 'measured', 'unusable', 'low', 'median', 'high', 'unit'],
    rows: timeline.buckets.map(({ first, last, measured, unusable, level }) => [first, last, measured, unusable, level?.low ?? '', level?.median ?? '', level?.high ?? '', timeline.unit]),
  }
}
