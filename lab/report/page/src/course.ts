// Brings the page of a history to life: the plot with its strip and controls, and the table of commits that goes with it. The address holds the whole choice.

import { Kept } from './address'
import { answersOf, type Answers } from './answers'
import { BesideRanges, MOST_BESIDE, rowsBeside, wordsBeside } from './beside'
import { CODEC, type Choice } from './choice'
import { Chooser, fillLegend } from './chooser'
import { figure, interval, sheetOf, shortName, words, type RunPages } from './commit'
import { fillCommits, markRow } from './commits'
import { acrossOf, comparisonsOf, type Comparisons } from './comparing'
import type { Sheet } from './csv'
import { readData } from './data'
import { Explorer } from './explorer'
import { drawCourse } from './line'
import { keepLive, replaceParts } from './live'
import { wireMarking } from './marking'
import type { BesideSeries, StepMark, Timeline } from './model'
import { Ranges } from './ranges'
import { oneLine } from './shorten'
import { Strip } from './strip'
import { Steps, tellSteps, ThresholdControl, usualOf } from './threshold'
import type { Across, Spot } from './timeline'
import { check, choice } from './toolbar'
import type { Description } from './tooltip'
import { Zooming } from './zooming'

/** By how much a button or a key zooms. */
const ZOOM = 2
/** By which share of the range a button moves it. */
const PAN = 0.5
/** Letters of the longest name of a commit or a release. */
const LONGEST_NAME = 200
/** The fewest commits that are shown. */
const LEAST = 5

/** Parts of the page that say the same as the plot. */
const PARTS = ['steps', 'quirks', 'reading']

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
  /** What is drawn: the newest answer for the range. */
  private shown: Timeline
  private readonly runs: RunPages
  private readonly answers: Answers
  private readonly comparisons: Comparisons
  private readonly across: ReturnType<typeof acrossOf>
  /** Asks for histories that are drawn with this one. */
  private readonly beside: BesideRanges
  private others: BesideSeries[] = []
  /** Asks for steps by another smallest change. */
  private readonly steps: Steps
  /** What such a search found; nothing for the usual steps. */
  private found: StepMark[] | null = null
  /** The commit whose figures are pinned in the plot, with its history. */
  private pinned = ''

  constructor(
    private readonly figure: HTMLElement,
    private whole: Timeline,
  ) {
    this.shown = whole
    this.runs = { before: figure.dataset.runBefore ?? '', after: figure.dataset.runAfter ?? '', executions: figure.dataset.executions ?? '' }
    this.answers = answersOf(figure)
    this.comparisons = comparisonsOf(figure)
    this.across = acrossOf(figure)
    this.beside = new BesideRanges(this.answers)
    this.steps = new Steps(this.answers)
    this.kept = new Kept(CODEC, (state) => this.settled(state))
    this.kept.settle()
    this.takeQuestion()
    this.ranges = new Ranges(whole, this.answers)
    this.strip = new Strip(figure.querySelector('.strip')!, whole, (from, to) => this.zoomTo(from, to))
    const chart = figure.querySelector<HTMLElement>('.chart')!
    this.explorer = new Explorer<Spot>(chart, {
      title: whole.name,
      draw: (width) => {
        // A drawing has to be there before a commit in it can be pinned.
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

  /** Takes a newer state of the history over. */
  update(whole: Timeline): void {
    this.whole = whole
    this.ranges.update(whole)
    this.strip.update(this.withSteps(whole))
    void this.load()
    if (this.kept.state.least !== null) void this.search()
  }

  /** The range that the address asks the server for, unless the reader has chosen another. */
  private takeQuestion(): void {
    const { from, to, at } = this.kept.state
    const isPart = this.whole.from > 0 || this.whole.to < this.whole.commits - 1
    if (from === null && to === null && at === '' && isPart) this.kept.state = { ...this.kept.state, from: this.whole.from, to: this.whole.to }
  }

  /** A state from outside, within what there is; a pinned commit is in the range. */
  private settled(state: Choice): Choice {
    const last = this.whole.commits - 1
    const bound = (value: number | null) => (value === null ? null : Math.min(last, Math.max(0, value)))
    let [from, to] = [bound(state.from), bound(state.to)]
    if (from !== null && to !== null && from > to) [from, to] = [to, from]
    const known = this.whole.related.map(({ id }) => id)
    const others = state.others.filter((id) => known.includes(id)).slice(0, MOST_BESIDE)
    const left = state.others.length - others.length
    const side = state.side.length <= LONGEST_NAME ? state.side : ''
    // Where a commit of another history lies, the answer says.
    const isOfOther = state.of !== '' && others.includes(state.of)
    const at = isOfOther ? null : this.positionOf(state.at)
    this.tellLeftOut(left, at === null && !isOfOther ? state.at : '')
    if (isOfOther) return { ...state, from, to, side, others }
    if (at !== null && (at < (from ?? 0) || at > (to ?? last))) [from, to] = [null, null]
    return { ...state, from, to, side, others, at: at === null ? '' : state.at, of: '' }
  }

  /** Says what the address asks for and the page does not have: a number of histories, and a commit. */
  private tellLeftOut(histories: number, commit: string): void {
    const told = document.getElementById('left-out')
    if (!told) return
    const words = [
      commit === '' ? '' : `The address names commit ${shortName(oneLine(commit))}, which ${this.whole.marks.length > 0 ? 'this history does not have' : 'is not among those that are drawn one by one'}: nothing is pinned.`,
      histories === 0 ? '' : `The address names ${histories} further ${histories === 1 ? 'history' : 'histories'} that cannot be drawn here, as not there, not related, or too many at once.`,
    ].filter((text) => text !== '')
    told.textContent = words.join(' ')
    told.hidden = words.length === 0
  }

  /** A link to a commit of this page leads to the plot, and keeps the range if the commit is in it. */
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

  /** Draws what is there of the range, and then the answer if that is more. */
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

  /** Draws the histories that are chosen, as soon as they are there. */
  private async loadOthers(): Promise<void> {
    const { from, to } = this.range()
    const others = await this.beside.ask(this.kept.state.others, from, to, Math.floor(this.figure.clientWidth))
    if (!others || (others.length === 0 && this.others.length === 0)) return
    this.others = others
    this.explorer.redraw()
    this.tellSeries()
  }

  /** Says in the legend what is drawn. */
  private tellSeries(): void {
    const list = document.getElementById('series')
    const { historyBefore = '', historyAfter = '' } = this.figure.dataset
    if (list) fillLegend(list, this.whole, this.others, this.isRelative(), (id) => `${historyBefore}${id}${historyAfter}`)
  }

  /** Values of different units have one axis only in relation to the first of each. */
  private isRelative(): boolean {
    return this.kept.state.relative || this.others.some(({ unit }) => unit !== this.whole.unit)
  }

  private describe(spot: Spot): Description {
    const told = spot.series === 0 ? words(this.shown, spot, this.runs, { comparisons: this.comparisons, side: this.kept.state.side, sideAt: this.positionOf(this.kept.state.side) }) : wordsBeside(this.others[spot.series - 1], spot, this.runs)
    const name = spot.series === 0 ? this.whole.name : this.others[spot.series - 1].name
    const relative = this.isRelative() && spot.level ? [['relative', `${spot.level.median.toPrecision(4)} of its first commit’s`] as [string, string]] : []
    if (this.others.length === 0) return { ...told, rows: [...told.rows, ...relative] }
    return { ...told, rows: [['history', `${spot.series + 1}: ${name}`], ...told.rows, ...relative, ...this.inStep(spot)] }
  }

  /** The values of the other histories at the same commit, each with what leads to the comparison with it. */
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
      return [`history ${number}`, href && spot.commit?.value ? [value, { text: 'compare with it', href }] : value]
    })
  }

  private sheet(): Sheet {
    const { head, rows } = sheetOf(this.shown)
    if (this.others.length === 0 || this.shown.marks.length === 0) return { head, rows }
    return { head: [...head, 'history'], rows: [...rows.map((row) => [...row, this.whole.name]), ...this.others.flatMap(rowsBeside)] }
  }

  /** Draws the steps by the smallest change that is chosen. */
  private async search(): Promise<void> {
    const { least } = this.kept.state
    this.steps.stop()
    tellSteps(least, 'searching', this.whole, this.answers.none)
    const found = least === null ? [] : await this.steps.ask(least)
    if (found === 'superseded') return
    tellSteps(least, found, this.whole, this.answers.none)
    this.found = least === null || found === 'failed' ? null : found
    this.strip.update(this.withSteps(this.whole))
    this.shown = this.withSteps(this.shown)
    this.explorer.redraw()
  }

  /** A timeline with the steps that are drawn. */
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

  /** Pins the commit that the address names, if it is drawn and not pinned yet. */
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

  /** The reader has pinned a commit, or closed the box. Where commits are drawn together, the pinned one is among those of its bucket. */
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

  /** Moves the range by as many commits as a share of it has. Returns which share they are. */
  private move(share: number): number {
    const { from, to } = this.range()
    const length = to - from + 1
    const far = Math.trunc(share * length)
    if (far !== 0) this.zoomTo(from + far, to + far)
    return far / length
  }

  /** Zooms about a commit: without another one about the pinned one, or about the middle. */
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

/** Tells pinned commits of several histories apart. */
function keyOf(commit: string, of: string): string {
  return of ? `${of}:${commit}` : commit
}

function button(sign: string, name: string, act: () => void): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = sign
  if (sign !== name) button.setAttribute('aria-label', name)
  button.title = name
  button.addEventListener('click', act)
  return button
}
