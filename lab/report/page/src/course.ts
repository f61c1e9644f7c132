// Brings the page of a history to life: the plot with its strip and controls, and the table of commits that goes with it. The address holds the whole choice.

import { Kept, type Codec } from './address'
import { sheetOf, words } from './commit'
import { fillCommits, markRow } from './commits'
import { readData } from './data'
import { Explorer } from './explorer'
import { drawCourse } from './line'
import { keepLive, replaceParts } from './live'
import { wireMarking } from './marking'
import type { Timeline } from './model'
import { Ranges } from './ranges'
import { Strip } from './strip'
import type { Across, Spot } from './timeline'
import { check, choice } from './toolbar'

interface State {
  /** First and last position; nothing for all. */
  from: number | null
  to: number | null
  across: Across
  log: boolean
  /** The commit whose figures are pinned, or nothing. */
  at: string
}

const position = (text: string | null) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null)

const CODEC: Codec<State> = {
  parse(query) {
    const across = query.get('x') === 'date' ? 'date' : 'order'
    return { from: position(query.get('from')), to: position(query.get('to')), across, log: query.get('log') === '1', at: query.get('at') ?? '' }
  },
  format(state) {
    const query = new URLSearchParams()
    if (state.from !== null) query.set('from', String(state.from))
    if (state.to !== null) query.set('to', String(state.to))
    if (state.across !== 'order') query.set('x', state.across)
    if (state.log) query.set('log', '1')
    if (state.at) query.set('at', state.at)
    return query
  },
}

/** By how much a button or a key zooms. */
const ZOOM = 2
/** By which share of the range a button moves it. */
const PAN = 0.5
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
  private readonly kept: Kept<State>
  private readonly ranges: Ranges
  private readonly strip: Strip
  private readonly explorer: Explorer<Spot>
  /** What is drawn: the newest answer for the range. */
  private shown: Timeline
  private readonly runs: { before: string; after: string }
  /** The commit whose figures are pinned in the plot. */
  private pinned = ''

  constructor(
    private readonly figure: HTMLElement,
    private whole: Timeline,
  ) {
    this.shown = whole
    this.runs = { before: figure.dataset.runBefore ?? '', after: figure.dataset.runAfter ?? '' }
    this.kept = new Kept(CODEC, (state) => this.settled(state))
    this.kept.settle()
    this.takeQuestion()
    this.ranges = new Ranges(whole, figure.dataset.source ?? null)
    this.strip = new Strip(figure.querySelector('.strip')!, whole, (from, to) => this.zoomTo(from, to))
    const chart = figure.querySelector<HTMLElement>('.chart')!
    this.explorer = new Explorer<Spot>(chart, {
      title: `${whole.subject}, ${whole.tasks} ${whole.tasks === 1 ? 'task' : 'tasks'}`,
      draw: (width) => {
        // A drawing has to be there before a commit in it can be pinned.
        queueMicrotask(() => this.repin())
        return drawCourse(this.shown, { ...this.range(), across: this.kept.state.across, log: this.kept.state.log }, width)
      },
      same: (before, now) => before.first <= now.last && now.first <= before.last,
      sheet: () => sheetOf(this.shown),
      describe: (spot) => words(this.shown, spot, this.runs),
      chosen: (spot, locked) => this.chosen(spot, locked),
    })
    chart.addEventListener('keydown', (event) => this.key(event))
    document.addEventListener('click', (event) => this.follow(event, chart))
    this.controls(document.getElementById('toolbar')!)
    this.kept.listen((state, before) => this.changed(state, before))
    void this.load()
  }

  /** Takes a newer state of the history over. */
  update(whole: Timeline): void {
    this.whole = whole
    this.ranges.update(whole)
    this.strip.update(whole)
    void this.load()
  }

  /** The range that the address asks the server for, unless the reader has chosen another. */
  private takeQuestion(): void {
    const { from, to, at } = this.kept.state
    const isPart = this.whole.from > 0 || this.whole.to < this.whole.commits - 1
    if (from === null && to === null && at === '' && isPart) this.kept.state = { ...this.kept.state, from: this.whole.from, to: this.whole.to }
  }

  /** A state from outside, within what there is; a pinned commit is in the range. */
  private settled(state: State): State {
    const last = this.whole.commits - 1
    const bound = (value: number | null) => (value === null ? null : Math.min(last, Math.max(0, value)))
    let [from, to] = [bound(state.from), bound(state.to)]
    if (from !== null && to !== null && from > to) [from, to] = [to, from]
    const at = this.positionOf(state.at)
    if (at !== null && (at < (from ?? 0) || at > (to ?? last))) [from, to] = [null, null]
    return { ...state, from, to, at: at === null ? '' : state.at }
  }

  /** A link to a commit of this page leads to the plot, and keeps the range if the commit is in it. */
  private follow(event: MouseEvent, chart: HTMLElement): void {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#at="]')
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    this.kept.set(this.settled({ ...this.kept.state, at: link.hash.slice('#at='.length) }))
    chart.focus({ preventScroll: true })
    chart.scrollIntoView({ block: 'nearest' })
  }

  private positionOf(commit: string): number | null {
    if (!commit) return null
    const mark = [...this.shown.marks, ...this.whole.marks].find((mark) => mark.commit === commit)
    const step = this.whole.steps.find((step) => step.commits.includes(commit))
    return mark?.position ?? (step ? (step.commits[1] === commit ? step.by : step.after) : null)
  }

  private range(): { from: number; to: number } {
    return { from: this.kept.state.from ?? 0, to: this.kept.state.to ?? this.whole.commits - 1 }
  }

  /** Draws what is there, and what the server has of the range if that is more. */
  private async load(): Promise<void> {
    const { from, to } = this.range()
    this.strip.show(from, to)
    const soon = this.ranges.there(from, to)
    this.take(soon.timeline)
    if (soon.isAll) return
    const better = await this.ranges.ask(from, to, Math.floor(this.figure.clientWidth))
    if (better) this.take(better)
  }

  private take(timeline: Timeline): void {
    this.shown = timeline
    const { from, to } = this.range()
    this.explorer.redraw()
    fillCommits(timeline, from, to, this.runs)
    markRow(this.positionOf(this.kept.state.at))
  }

  /** Pins the commit that the address names, if it is drawn and not pinned yet. */
  private repin(): void {
    const at = this.positionOf(this.kept.state.at)
    if (at !== null && this.pinned !== this.kept.state.at) this.explorer.pin((spot) => spot.first <= at && at <= spot.last)
  }

  private changed(state: State, before: State): void {
    if (state.from !== before.from || state.to !== before.to) void this.load()
    else if (state.log !== before.log || state.across !== before.across) this.explorer.redraw()
    if (state.at === before.at) return
    markRow(this.positionOf(state.at))
    if (state.at) this.repin()
    else if (this.pinned) this.explorer.pin(() => false)
  }

  /** The reader has pinned a commit, or closed the box. Where commits are drawn together, the pinned one is among those of its bucket. */
  private chosen(spot: Spot | null, locked: boolean): void {
    const { at } = this.kept.state
    const place = this.positionOf(at)
    const isWithin = spot !== null && place !== null && spot.first <= place && place <= spot.last
    const commit = !locked ? '' : (spot?.commit?.commit ?? (isWithin ? at : ''))
    if (commit === this.pinned) return
    this.pinned = commit
    if (at !== commit) this.kept.set({ at: commit })
  }

  private zoomTo(from: number, to: number): void {
    const last = this.whole.commits - 1
    const length = Math.min(last, Math.max(LEAST - 1, to - from))
    const first = Math.max(0, Math.min(last - length, from))
    const isAll = length >= last
    this.kept.set(isAll ? { from: null, to: null } : { from: first, to: first + length })
  }

  private zoom(by: number): void {
    const { from, to } = this.range()
    const at = this.positionOf(this.kept.state.at)
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
    bar.append(across, axes, range)
    bar.hidden = false
    this.kept.listen((now) => {
      check(across, now.across)
      check(axes, now.log ? 'log' : 'linear')
    })
  }
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
