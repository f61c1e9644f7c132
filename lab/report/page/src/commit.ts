// Texts about a commit or a bucket: box in the plot, table row, CSV, and links to comparisons.

import type { Description, Linked } from './explorer'
import { oneLine, percent, quantity, shortEnd, span } from './figure'
import type { CommitMark, Estimate, FilesNamed, Timeline } from './model'
import type { Sheet } from './saving'
import type { Spot } from './timeline'

/** Digits of a commit's name. */
const DIGITS = 12
/** Characters of a text. */
const TEXT_LETTERS = 140
/** Number of files, and characters per file. */
const [FILES, FILE_LETTERS] = [3, 60]

/** Minimum coverage of intervals for a comparison: that of six executions. */
const LEAST_COVERAGE = 0.95

export function shortName(commit: string): string {
  return commit.slice(0, DIGITS)
}

export function day(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10)
}

/** Format of values. */
type Measured = Pick<Timeline, 'is_exact' | 'unit'>

/** A value with its unit; a count unchanged. */
export function figure(timeline: Measured, value: number): string {
  return timeline.is_exact ? String(value) : quantity(value, timeline.unit)
}

export function interval(timeline: Measured, mark: CommitMark): string {
  return mark.value && !timeline.is_exact ? span(mark.value.low, mark.value.high, mark.value.median, timeline.unit) : ''
}

/** The box of a spot. */
export function describeSpot(timeline: Timeline, spot: Spot, runs: RunPages, compare: Comparing): Description {
  return spot.commit ? ofCommit(timeline, spot.commit, runs, compare) : ofBucket(timeline, spot)
}

/** Comparisons of two commits, and the commit chosen as side A. */
export interface Comparing {
  comparisons: Comparisons
  side: string
  /** The position of side A, if known. */
  sideAt: number | null
}

function ofCommit(timeline: Timeline, mark: CommitMark, runs: RunPages, compare: Comparing): Description {
  const rows: Description['rows'] = [...about(mark), ...onForge(mark, runs), ...valueOf(timeline, mark)]
  if (mark.value) {
    const change = changeAt(timeline, mark)
    if (change) rows.push(['Δ to the previous', change])
  }
  const step = timeline.steps.find((step) => step.by === mark.position)
  if (step) rows.push(['step', `${step.change}, ${step.what}`])
  if (step?.state) rows.push(['state', [step.state, ...step.said.map((line) => shortEnd(oneLine(line), TEXT_LETTERS))].join('; ')])
  const letters = mark.run === null ? [] : timeline.quirks.filter(({ ranges }) => ranges.some(([first, last]) => first <= mark.position && mark.position <= last)).map(({ letter }) => letter)
  if (letters.length > 0) rows.push([letters.length === 1 ? 'quirk' : 'quirks', letters.join(', ')])
  return { heading: shortName(mark.commit), rows: [...rows, ...measuredBy(timeline, mark, runs), ...comparisons(timeline, mark, compare)] }
}

/** Links to parts of the comparison with the previous measured commit. */
function partsOf(timeline: Timeline, mark: CommitMark, before: CommitMark, href: string): Linked[] {
  const part = (text: string, id: string) => ({ text, href: `${href}#${id}` })
  const between = mark.position - before.position === 1 ? [] : [part(`${mark.position - before.position} commits since`, 'between')]
  const hasStep = timeline.steps.some(({ by }) => by > before.position && by <= mark.position)
  const artefacts = hasStep ? [part('files and artefacts', 'steps')] : []
  if (!mark.value) return [part('full output', 'sides'), ...between]
  const moved = timeline.is_exact ? part('lines and code that moved', 'counts') : part('counters and distributions', 'workloads')
  return [...between, moved, ...artefacts]
}

/**
 * Parts of addresses: a run's page before and after its number, and executions of a subject between
 * the numbers of run and subject.
 */
export interface RunPages {
  before: string
  after: string
  executions: string
  /** The address before a commit's name on the repository's forge; empty without one. */
  forge: string
}

/** A link to the commit on the repository's forge. */
function onForge({ commit }: CommitMark, { forge }: RunPages): Description['rows'] {
  if (!forge || !/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return []
  return [['commit', { text: new URL(forge).host, href: forge + commit }]]
}

/** The run with its executions, and the host. */
export function measuredBy({ host }: Pick<Timeline, 'host'>, { run, executed_as: subject }: CommitMark, { before, after, executions }: RunPages): Description['rows'] {
  if (run === null) return []
  const raw = subject === null ? [] : [{ text: 'raw executions', href: `${before}${run}${executions}${subject}` }]
  const rows: Description['rows'] = [['measured by', [{ text: `run ${run}`, href: `${before}${run}${after}` }, ...raw]]]
  return host === null ? rows : [...rows, ['host', shortEnd(oneLine(host), TEXT_LETTERS)]]
}

/** Links to the comparisons with the previous measured commit and with side A. */
function comparisons(timeline: Timeline, mark: CommitMark, { comparisons, side, sideAt }: Comparing): Description['rows'] {
  const row = (text: string, a: CommitPlace, parts: (href: string) => Linked[]): Description['rows'][number] => {
    const found = comparisons(a, mark)
    if (!found) return ['compare', `${text}: not in this export`]
    return ['compare', [{ text: found.isTurned ? `${text}, the older one as A` : text, href: found.href }, ...parts(found.href)]]
  }
  const rows: Description['rows'] = []
  const before = previousOf(timeline, mark)
  if (before) rows.push(row(`with the previous one, ${shortName(before.commit)}`, before, (href) => partsOf(timeline, mark, before, href)))
  if (side && side !== mark.commit) rows.push(row(`with side A, ${shortName(side)}`, { commit: side, position: sideAt }, () => []))
  rows.push(side === mark.commit ? ['side A', 'pin another commit to compare it with this one'] : ['side A', { text: 'choose as side A', href: `#a=${encodeURIComponent(mark.commit)}` }])
  return rows
}

/** The previous measured commit. */
function previousOf(timeline: Timeline, mark: CommitMark): CommitMark | undefined {
  return timeline.marks.findLast((other) => other.position < mark.position && other.value !== null)
}

/** Rows of any commit. */
export function about(mark: CommitMark): Description['rows'] {
  return [
    ['subject', shortEnd(oneLine(mark.subject), TEXT_LETTERS)],
    ['author', shortEnd(oneLine(mark.author), TEXT_LETTERS)],
    ['committed', day(mark.committed_s)],
    ...(mark.files ? [['files', filesOf(mark.files)] as [string, string]] : []),
  ]
}

/** Files that a commit changed. */
function filesOf({ number, most }: FilesNamed): string {
  if (number === 0) return 'none'
  const named = most.slice(0, FILES).map((file) => shortEnd(oneLine(file), FILE_LETTERS))
  const left = number - named.length
  return `${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}`
}

/** The number of executions, with the number of boots if there are several. */
function executions({ boots, value }: CommitMark): string {
  const n = String(value?.n ?? 0)
  const different = new Set(boots).size
  return different < 2 ? n : `${n} executions in ${different} boots`
}

/**
 * The value with interval and number of executions, or the reason for none; and values in random
 * layouts.
 */
export function valueOf(series: Measured, mark: CommitMark): Description['rows'] {
  if (!mark.value) return [['result', mark.why], ...(mark.message ? [['output', mark.message] as [string, string]] : [])]
  const { median, coverage } = mark.value
  if (series.is_exact) return [['count', `${figure(series, median)}, lower is better`], ...inLayouts(series, mark)]
  return [['median', `${figure(series, median)}, lower is better`], [`${percent(coverage)} interval`, interval(series, mark)], ['n', executions(mark)], ...inLayouts(series, mark)]
}

/** Lowest and highest value in random layouts. */
function inLayouts(series: Measured, { layout_values: values, layouts }: CommitMark): Description['rows'] {
  if (values.length === 0) return []
  const at = (value: number) => `${figure(series, value)} (layout ${layouts[values.indexOf(value)]})`
  const different = new Set(layouts).size
  return [[different === 1 ? '1 random layout' : `${different} random layouts`, `${at(Math.min(...values))} … ${at(Math.max(...values))}`]]
}

/** The change from the previous measured commit. */
function changeAt(timeline: Timeline, mark: CommitMark): string | null {
  const before = previousOf(timeline, mark)
  if (!before?.value || !mark.value || before.value.median === 0) return null
  const change = mark.value.median / before.value.median - 1
  if (timeline.is_exact && change === 0) return 'none: equal counts'
  const direction = isClear(timeline, before.value, mark.value) ? (change > 0 ? 'worse' : 'better') : 'inconclusive'
  return `${change > 0 ? '+' : ''}${(change * 100).toFixed(1)} %, ${direction}; of this commit alone, not of a step`
}

/** True if two values differ exactly, or have disjoint intervals of sufficient coverage. */
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

/** The CSV of one history's plot. */
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

/** A commit with its position, if known. */
export interface CommitPlace {
  commit: string
  position: number | null
}

/** A page that compares `b` with `a`. */
export interface ComparisonPage {
  href: string
  /** True if `a` is side B there: files have the older commit as side A. */
  isTurned: boolean
}

/** The page that compares `b` with `a`; `null` if there is none. */
export type Comparisons = (a: CommitPlace, b: CommitPlace) => ComparisonPage | null

/** The comparison of commits of two histories, each as HISTORY@COMMIT; `null` in files. */
export function acrossOf(figure: HTMLElement): (a: [history: string, commit: string], b: [history: string, commit: string]) => string | null {
  const { across } = figure.dataset
  return (a, b) => (across === undefined ? null : `${across}?a=${encodeURIComponent(a.join('@'))}&b=${encodeURIComponent(b.join('@'))}`)
}

/** The comparisons of a plot. */
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

/** Rows of the table. */
const ROWS = 200
const ROW_LETTERS = 90

/** Fills the table with the commits of a range. */
export function fillCommits(timeline: Timeline, from: number, to: number, runs: { before: string; after: string }): void {
  const body = document.querySelector<HTMLTableSectionElement>('#commits tbody')
  const status = document.getElementById('shown')
  if (!body || !status) return
  const within = timeline.marks.filter((mark) => mark.position >= from && mark.position <= to)
  const rows = within.slice(-ROWS).reverse()
  body.replaceChildren(...rows.map((mark) => row(timeline, mark, runs)))
  status.textContent = within.length === 0
    ? 'Too many commits for a list: choose a shorter range.'
    : `The newest ${rows.length} of ${within.length} commits in the plot.`
}

function row(timeline: Timeline, mark: CommitMark, runs: { before: string; after: string }): HTMLTableRowElement {
  const row = document.createElement('tr')
  row.dataset.position = String(mark.position)
  const head = document.createElement('th')
  head.scope = 'row'
  const code = document.createElement('code')
  code.textContent = shortName(mark.commit)
  head.append(link(`#${new URLSearchParams({ at: mark.commit })}`, code))
  const run = mark.run === null ? '–' : link(`${runs.before}${mark.run}${runs.after}`, String(mark.run))
  row.append(
    head,
    cell(day(mark.committed_s)),
    cell(mark.value ? figure(timeline, mark.value.median) : mark.why || '–', true),
    cell(interval(timeline, mark) || '–'),
    cell(mark.value ? String(mark.value.n) : '–', true),
    cell(run, true),
    cell(shortEnd(oneLine(mark.author), ROW_LETTERS)),
    cell(shortEnd(oneLine(mark.subject), ROW_LETTERS)),
  )
  return row
}

function cell(content: string | Node, isNumber = false): HTMLTableCellElement {
  const cell = document.createElement('td')
  if (isNumber) cell.className = 'number'
  cell.append(content)
  return cell
}

function link(href: string, content: string | Node): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = href
  link.append(content)
  return link
}

/** Marks the row of the pinned commit. */
export function markRow(position: number | null): void {
  for (const row of document.querySelectorAll<HTMLTableRowElement>('#commits tbody tr')) {
    const isIt = position !== null && row.dataset.position === String(position)
    row.classList.toggle('pinned', isIt)
    if (isIt) row.setAttribute('aria-current', 'true')
    else row.removeAttribute('aria-current')
  }
}
