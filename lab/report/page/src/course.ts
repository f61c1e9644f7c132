// The page of a history: plot, strip, controls and table of commits. The address has the entire
// state.

import { type Codec, Kept, readData } from './address'
import { type Answers, answersOf, Newest, Ranges } from './answers'
import { fillLegend, MOST_BESIDE, rowsBeside, wordsBeside } from './beside'
import { acrossOf, type Comparisons, comparisonsOf, describeSpot, figure, fillCommits, interval, markRow, type RunPages, sheetOf, shortName } from './commit'
import { button, check, choice, Chooser, percentOf, tellSteps, ThresholdControl, usualOf } from './controls'
import { type Description, Explorer } from './explorer'
import { oneLine } from './figure'
import { drawCourse } from './line'
import { keepLive, replaceParts } from './live'
import type { BesideSeries, StepMark, Timeline } from './model'
import { wireMarking } from './page'
import type { Sheet } from './saving'
import type { Across, Spot } from './timeline'
import { Strip, Zooming } from './zooming'

export interface Choice {
  /** First and last position; `null` for all. */
  from: number | null
  to: number | null
  across: Across
  log: boolean
  /** Values relative to the first one of their history. */
  relative: boolean
  /** Minimum change of a step, in percent; `null` for the default. */
  least: number | null
  /** Identifiers of the further histories. */
  others: string[]
  /** The pinned commit, or empty. */
  at: string
  /** The commit chosen as side A, or empty. */
  side: string
  /** The further history of the pinned commit; empty for the page's history. */
  of: string
}

const position = (text: string | null) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null)

export const CODEC: Codec<Choice> = {
  parse(query) {
    const across = query.get('x') === 'date' ? 'date' : 'order'
    const others = (query.get('with') ?? '').split(',').filter((id) => id !== '')
    return {
      from: position(query.get('from')), to: position(query.get('to')), across, log: query.get('log') === '1', relative: query.get('y') === 'relative',
      least: percentOf(query.get('min')), others: [...new Set(others)], at: query.get('at') ?? '', side: query.get('a') ?? '', of: query.get('of') ?? '',
    }
  },
  format(state) {
    const query = new URLSearchParams()
    if (state.from !== null) query.set('from', String(state.from))
    if (state.to !== null) query.set('to', String(state.to))
    if (state.across !== 'order') query.set('x', state.across)
    if (state.log) query.set('log', '1')
    if (state.relative) query.set('y', 'relative')
    if (state.least !== null) query.set('min', String(state.least))
    if (state.others.length > 0) query.set('with', state.others.join(','))
    if (state.at) query.set('at', state.at)
    if (state.side) query.set('a', state.side)
    if (state.at && state.of) query.set('of', state.of)
    return query
  },
}

/** Zoom factor of a button or key. */
const ZOOM = 2
/** Distance of a button or key, as a share of the range. */
const PAN = 0.5
/** Characters of a commit's or release's name. */
const LONGEST_NAME = 200
/** Minimum number of shown commits. */
const LEAST = 5

/** Parts of the page with the same content as the plot. */
const PARTS = ['answer', 'steps', 'quirks', 'reading']

export function showCourse(timeline: Timeline): void {
  const figure = document.querySelector<HTMLElement>('figure.timeline')
  if (!figure) return
  const course = new Course(figure, timeline)
  keepLive((page) => {
    const newer = readData<Timeline>(page)
    if (newer) course.update(newer)
    for (const part of replaceParts(page, PARTS)) wireMarking(part)
  })
}

class Course {
  private readonly kept: Kept<Choice>
  private readonly ranges: Ranges
  private readonly strip: Strip
  private readonly explorer: Explorer<Spot>
  /** The drawn state: the newest answer for the range. */
  private shown: Timeline
  private readonly runs: RunPages
  private readonly answers: Answers
  private readonly comparisons: Comparisons
  private readonly across: ReturnType<typeof acrossOf>
  private readonly otherRequest = new Newest()
  private others: BesideSeries[] = []
  private readonly stepRequest = new Newest()
  /** The steps with another minimum change; `null` for the default steps. */
  private found: StepMark[] | null = null
  /** The pinned commit with its history. */
  private pinned = ''

  constructor(
    private readonly figure: HTMLElement,
    private whole: Timeline,
  ) {
    this.shown = whole
    this.runs = { before: figure.dataset.runBefore ?? '', after: figure.dataset.runAfter ?? '', executions: figure.dataset.executions ?? '', forge: figure.dataset.forge ?? '' }
    this.answers = answersOf(figure)
    this.comparisons = comparisonsOf(figure)
    this.across = acrossOf(figure)
    this.kept = new Kept(CODEC, (state) => this.settled(state))
    this.kept.settle()
    this.takeQuestion()
    this.ranges = new Ranges(whole, this.answers)
    this.strip = new Strip(figure.querySelector('.strip')!, whole, (from, to) => this.zoomTo(from, to))
    const chart = figure.querySelector<HTMLElement>('.chart')!
    this.explorer = new Explorer<Spot>(chart, {
      title: whole.name,
      draw: (width) => {
        // A commit can be pinned only in a complete drawing.
        queueMicrotask(() => this.repin())
        return drawCourse(this.shown, this.others, { ...this.range(), across: this.kept.state.across, log: this.kept.state.log, relative: this.isRelative() }, width)
      },
      same: (before, now) => before.series === now.series && before.first <= now.last && now.first <= before.last,
      sheet: () => this.sheet(),
      describe: (spot) => this.describe(spot),
      chosen: (spot, locked) => this.chosen(spot, locked),
    })
    new Zooming(chart, {
      frame: () => this.explorer.frame,
      between: (left, right) => this.zoomBetween(left, right),
      zoom: (factor, at) => this.zoom(factor, this.explorer.nearestTo(at)?.first),
      move: (share) => this.move(share),
    })
    chart.addEventListener('keydown', (event) => this.key(event))
    document.addEventListener('click', (event) => this.follow(event, chart))
    this.controls(document.getElementById('toolbar')!)
    this.kept.listen((state, before) => this.changed(state, before))
    void this.load()
    if (this.kept.state.least !== null) void this.search()
  }

  /** Replaces the history by a newer state. */
  update(whole: Timeline): void {
    this.whole = whole
    this.ranges.update(whole)
    this.strip.update(this.withSteps(whole))
    void this.load()
    if (this.kept.state.least !== null) void this.search()
  }

  /** Uses the range of the server's answer, unless the reader chose another. */
  private takeQuestion(): void {
    const { from, to, at } = this.kept.state
    const isPart = this.whole.from > 0 || this.whole.to < this.whole.commits - 1
    if (from === null && to === null && at === '' && isPart) this.kept.state = { ...this.kept.state, from: this.whole.from, to: this.whole.to }
  }

  /**
   * Restricts a state from outside to existing commits and histories, and the range to one with the
   * pinned commit.
   */
  private settled(state: Choice): Choice {
    const last = this.whole.commits - 1
    const bound = (value: number | null) => (value === null ? null : Math.min(last, Math.max(0, value)))
    let [from, to] = [bound(state.from), bound(state.to)]
    if (from !== null && to !== null && from > to) [from, to] = [to, from]
    const known = this.whole.related.map(({ id }) => id)
    const others = state.others.filter((id) => known.includes(id)).slice(0, MOST_BESIDE)
    const left = state.others.length - others.length
    const side = state.side.length <= LONGEST_NAME ? state.side : ''
    // Only the answer has the position of a commit of another history.
    const isOfOther = state.of !== '' && others.includes(state.of)
    const at = isOfOther ? null : this.positionOf(state.at)
    this.tellLeftOut(left, at === null && !isOfOther ? state.at : '')
    if (isOfOther) return { ...state, from, to, side, others }
    if (at !== null && (at < (from ?? 0) || at > (to ?? last))) [from, to] = [null, null]
    return { ...state, from, to, side, others, at: at === null ? '' : state.at, of: '' }
  }

  /** States which parts of the address are unavailable: a number of histories, and a commit. */
  private tellLeftOut(histories: number, commit: string): void {
    const status = document.getElementById('left-out')
    if (!status) return
    const words = [
      commit === '' ? '' : `Commit ${shortName(oneLine(commit))} is not pinned: ${this.whole.marks.length > 0 ? 'it is not in this history' : 'commits are grouped in this range'}.`,
      histories === 0 ? '' : `${histories} further ${histories === 1 ? 'history is' : 'histories are'} not drawn: missing, unrelated, or beyond the limit of ${MOST_BESIDE}.`,
    ].filter((text) => text !== '')
    status.textContent = words.join(' ')
    status.hidden = words.length === 0
  }

  /** Follows a link to a commit of this page, and keeps the range if it includes the commit. */
  private follow(event: MouseEvent, chart: HTMLElement): void {
    const side = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#a="]')
    if (side) {
      event.preventDefault()
      return this.kept.set({ side: decodeURIComponent(side.hash.slice('#a='.length)) })
    }
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#at="]')
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    this.kept.set(this.settled({ ...this.kept.state, at: new URLSearchParams(link.hash.slice(1)).get('at') ?? '', of: '' }))
    chart.focus({ preventScroll: true })
    chart.scrollIntoView({ block: 'nearest' })
  }

  private positionOf(commit: string): number | null {
    if (!commit) return null
    const mark = [...this.shown.marks, ...this.whole.marks].find((mark) => mark.commit === commit)
    const step = [...this.whole.steps, ...(this.found ?? [])].find((step) => step.commits.includes(commit))
    return mark?.position ?? (step ? (step.commits[1] === commit ? step.by : step.after) : null)
  }

  private range(): { from: number; to: number } {
    return { from: this.kept.state.from ?? 0, to: this.kept.state.to ?? this.whole.commits - 1 }
  }

  /** Draws the available data of the range, then the answer. */
  private async load(): Promise<void> {
    const { from, to } = this.range()
    this.strip.show(from, to)
    void this.loadOthers()
    const soon = this.ranges.there(from, to)
    this.take(soon.timeline)
    if (soon.isAll) return
    const better = await this.ranges.ask(from, to, Math.floor(this.figure.clientWidth))
    if (better) this.take(better)
  }

  /** Draws the chosen histories when they arrive. */
  private async loadOthers(): Promise<void> {
    const { from, to } = this.range()
    const ids = this.kept.state.others
    const width = Math.floor(this.figure.clientWidth)
    const others = await this.otherRequest.soon(async (signal) => (ids.length === 0 ? [] : this.answers.beside(ids, from, to, width, signal)))
    if (!others || (others.length === 0 && this.others.length === 0)) return
    this.others = others
    this.explorer.redraw()
    this.tellSeries()
  }

  /** Updates the legend. */
  private tellSeries(): void {
    const list = document.getElementById('series')
    const { historyBefore = '', historyAfter = '' } = this.figure.dataset
    if (list) fillLegend(list, this.whole, this.others, this.isRelative(), (id) => `${historyBefore}${id}${historyAfter}`)
  }

  /** Different units require relative values. */
  private isRelative(): boolean {
    return this.kept.state.relative || this.others.some(({ unit }) => unit !== this.whole.unit)
  }

  private describe(spot: Spot): Description {
    const box = spot.series === 0 ? describeSpot(this.shown, spot, this.runs, { comparisons: this.comparisons, side: this.kept.state.side, sideAt: this.positionOf(this.kept.state.side) }) : wordsBeside(this.others[spot.series - 1], spot, this.runs)
    const name = spot.series === 0 ? this.whole.name : this.others[spot.series - 1].name
    const relative = this.isRelative() && spot.level ? [['relative', `${spot.level.median.toPrecision(4)} of its first value`] as [string, string]] : []
    if (this.others.length === 0) return { ...box, rows: [...box.rows, ...relative] }
    return { ...box, rows: [['history', `${spot.series + 1}: ${name}`], ...box.rows, ...relative, ...this.inStep(spot)] }
  }

  /** Values of the other histories at the same commit, with links to comparisons. */
  private inStep(spot: Spot): Description['rows'] {
    const commit = spot.commit?.commit
    if (commit === undefined) return []
    const own = { number: 1, measured: this.shown as Pick<Timeline, 'id' | 'is_exact' | 'unit'>, mark: this.shown.marks.find((mark) => mark.commit === commit) }
    const others = this.others.map((one, index) => ({ number: index + 2, measured: one, mark: one.marks.find(({ mark }) => mark.commit === commit)?.mark }))
    const there = [own, ...others].filter(({ number, mark }) => number !== spot.series + 1 && mark?.value)
    const id = spot.series === 0 ? this.whole.id : this.others[spot.series - 1].id
    return there.map(({ number, measured, mark }) => {
      const { median, n } = mark!.value!
      const beside = measured.is_exact ? '' : ` (${interval(measured, mark!)}, n ${n})`
      const value = `${figure(measured, median)}${beside}`
      const href = this.across([measured.id, commit], [id, commit])
      return [`history ${number}`, href && spot.commit?.value ? [value, { text: 'compare', href }] : value]
    })
  }

  private sheet(): Sheet {
    const { head, rows } = sheetOf(this.shown)
    if (this.others.length === 0 || this.shown.marks.length === 0) return { head, rows }
    return { head: [...head, 'history'], rows: [...rows.map((row) => [...row, this.whole.name]), ...this.others.flatMap(rowsBeside)] }
  }

  /** Draws the steps for the chosen minimum change. */
  private async search(): Promise<void> {
    const { least } = this.kept.state
    tellSteps(least, 'searching', this.whole, this.answers.none)
    const found = (await this.stepRequest.ask(async (signal) => (least === null ? [] : this.answers.steps(least, signal)))) ?? 'failed'
    if (found === 'superseded') return
    tellSteps(least, found, this.whole, this.answers.none)
    this.found = least === null || found === 'failed' ? null : found
    this.strip.update(this.withSteps(this.whole))
    this.shown = this.withSteps(this.shown)
    this.explorer.redraw()
  }

  /** A timeline with the drawn steps. */
  private withSteps(timeline: Timeline): Timeline {
    return { ...timeline, steps: this.found ?? this.whole.steps }
  }

  private take(timeline: Timeline): void {
    this.shown = this.withSteps(timeline)
    const { from, to } = this.range()
    this.explorer.redraw()
    fillCommits(timeline, from, to, this.runs)
    markRow(this.positionOf(this.kept.state.at))
  }

  /** Pins the commit of the address, if it is drawn and unpinned. */
  private repin(): void {
    const { at, of } = this.kept.state
    if (this.pinned === keyOf(at, of)) return
    if (of) return this.explorer.pin((spot) => spot.series > 0 && this.others[spot.series - 1]?.id === of && spot.commit?.commit === at)
    const position = this.positionOf(at)
    if (position !== null) this.explorer.pin((spot) => spot.series === 0 && spot.first <= position && position <= spot.last)
  }

  private changed(state: Choice, before: Choice): void {
    const otherwise = state.log !== before.log || state.across !== before.across || state.relative !== before.relative
    if (state.from !== before.from || state.to !== before.to) void this.load()
    else if (String(state.others) !== String(before.others)) void this.loadOthers()
    else if (otherwise) this.explorer.redraw()
    if (state.relative !== before.relative) this.tellSeries()
    if (state.least !== before.least) void this.search()
    if (state.side !== before.side) this.explorer.redraw()
    if (state.at === before.at && state.of === before.of) return
    markRow(this.positionOf(state.at))
    if (state.at) this.repin()
    else if (this.pinned) this.explorer.pin(() => false)
  }

  /** Takes a pinned or released spot over. A pinned commit may be one of a bucket. */
  private chosen(spot: Spot | null, locked: boolean): void {
    this.strip.point(spot ? (spot.first + spot.last) / 2 : null)
    const { at } = this.kept.state
    const place = this.positionOf(at)
    const isWithin = spot !== null && spot.series === 0 && place !== null && spot.first <= place && place <= spot.last
    const commit = !locked ? '' : (spot?.commit?.commit ?? (isWithin ? at : ''))
    const of = commit && spot && spot.series > 0 ? this.others[spot.series - 1].id : ''
    if (keyOf(commit, of) === this.pinned) return
    this.pinned = keyOf(commit, of)
    if (at !== commit || this.kept.state.of !== of) this.kept.set({ at: commit, of })
  }

  private zoomTo(from: number, to: number): void {
    const last = this.whole.commits - 1
    const length = Math.min(last, Math.max(LEAST - 1, to - from))
    const first = Math.max(0, Math.min(last - length, from))
    const isAll = length >= last
    this.kept.set(isAll ? { from: null, to: null } : { from: first, to: first + length })
  }

  /** Shows the commits between two places across the plot. */
  private zoomBetween(left: number, right: number): void {
    const [a, b] = [this.explorer.nearestTo(left), this.explorer.nearestTo(right)]
    if (a && b) this.zoomTo(Math.floor(Math.min(a.first, b.first)), Math.ceil(Math.max(a.last, b.last)))
  }

  /** Moves the range by a share of it, in whole commits. Returns the moved share. */
  private move(share: number): number {
    const { from, to } = this.range()
    const length = to - from + 1
    const far = Math.trunc(share * length)
    if (far !== 0) this.zoomTo(from + far, to + far)
    return far / length
  }

  /** Zooms around a commit: `around`, else the pinned one, else the middle. */
  private zoom(by: number, around?: number): void {
    const { from, to } = this.range()
    const at = around ?? this.positionOf(this.kept.state.at)
    const middle = at !== null && at >= from && at <= to ? at : (from + to) / 2
    const length = (to - from) * by
    const before = length * ((middle - from) / Math.max(1, to - from))
    this.zoomTo(Math.round(middle - before), Math.round(middle - before + length))
  }

  private pan(by: number): void {
    const { from, to } = this.range()
    const far = Math.round((to - from + 1) * by)
    this.zoomTo(from + far, to + far)
  }

  private key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const keys: Record<string, () => void> = {
      '+': () => this.zoom(1 / ZOOM),
      '=': () => this.zoom(1 / ZOOM),
      '-': () => this.zoom(ZOOM),
      '0': () => this.zoomTo(0, this.whole.commits - 1),
      PageUp: () => this.pan(-PAN),
      PageDown: () => this.pan(PAN),
    }
    const act = keys[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }

  private controls(bar: HTMLElement): void {
    const { state } = this.kept
    const across = choice('Across', 'across', { order: 'Order', date: 'Date' }, state.across, (value) => this.kept.set({ across: value as Across }))
    const axes = choice('Axis', 'axes', { linear: 'Linear', log: 'Logarithmic' }, state.log ? 'log' : 'linear', (value) => this.kept.set({ log: value === 'log' }))
    const range = document.createElement('div')
    range.className = 'buttons'
    range.setAttribute('role', 'group')
    range.setAttribute('aria-label', 'Range')
    range.append(
      button('◀', 'Earlier commits', () => this.pan(-PAN)),
      button('−', 'Zoom out', () => this.zoom(ZOOM)),
      button('+', 'Zoom in', () => this.zoom(1 / ZOOM)),
      button('▶', 'Later commits', () => this.pan(PAN)),
      button('All', 'All commits', () => this.zoomTo(0, this.whole.commits - 1)),
    )
    const values = choice('Values', 'values', { measured: 'Measured', relative: 'Relative' }, state.relative ? 'relative' : 'measured', (value) => this.kept.set({ relative: value === 'relative' }))
    const chooser = this.whole.related.length > 0 ? new Chooser(this.whole, state.others, (others) => this.kept.set({ others })) : null
    const offered = (this.figure.dataset.thresholds ?? '').split(' ').map(Number)
    const threshold = new ThresholdControl(offered, usualOf(this.whole), state.least, (least) => this.kept.set({ least }))
    bar.append(across, axes, values, range, threshold.element, ...(chooser ? [chooser.element] : []))
    bar.hidden = false
    this.kept.listen((now) => {
      check(across, now.across)
      check(axes, now.log ? 'log' : 'linear')
      check(values, now.relative ? 'relative' : 'measured')
      chooser?.show(now.others)
      threshold.show(now.least)
    })
  }
}

/** A key of pinned commits of several histories. */
function keyOf(commit: string, of: string): string {
  return of ? `${of}:${commit}` : commit
}
