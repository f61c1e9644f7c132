// Exploration of a chart by pointer and keyboard: focus on a mark, and a box with its figures.
// Enter pins the box, Escape closes it.

import { shape } from './drawing'
import { saveButtons, type Saved } from './saving'

export type Arrow = 'ArrowLeft' | 'ArrowRight' | 'ArrowUp' | 'ArrowDown'

/** Edges within a drawing, in pixels. */
export interface Frame {
  left: number
  right: number
  top: number
  bottom: number
}

export interface Drawing<M> {
  svg: SVGSVGElement
  /** Marks from left to right with their places; in a grid, row by row. */
  marks: { mark: M; x: number; y: number }[]
  /** Edges of the plot, if a vertical line goes through the mark in focus. */
  frame?: Frame
  /** Marks per row of a grid. */
  columns?: number
  /** The distance by which the pointer finds a mark: horizontal by default. */
  nearest?: 'x' | 'y' | 'both'
  /**
   * The target of an arrow key, for a drawing that is neither curve nor grid. Focus begins at the
   * first mark.
   */
  neighbour?(index: number, arrow: Arrow): number
  /** The mark at a place, if marks are areas; -1 for none. */
  at?(x: number, y: number): number
}

export interface Subject<M> extends Saved {
  /** The drawing; `null` without values. */
  draw(width: number): Drawing<M> | null
  describe(mark: M): Description
  /**
   * True if marks of an earlier and a later drawing are the same; by default those with the same
   * index.
   */
  same?(before: M, now: M): boolean
  /** Receives the mark in focus, and whether it is pinned. */
  chosen?(mark: M | null, locked: boolean): void
}

/** Maximum distance between pointer and mark, in pixels. */
const REACH = 60

export class Explorer<M> {
  private drawing: Drawing<M> | null = null
  private active = -1
  private locked = false
  private width = 0
  private readonly tooltip = new Tooltip()
  private readonly halo = shape('circle', { class: 'halo', r: 8 })
  private readonly cursor = shape('line', { class: 'cursor' })
  private readonly canvas = document.createElement('div')

  constructor(
    private readonly chart: HTMLElement,
    private readonly subject: Subject<M>,
  ) {
    this.canvas.className = 'canvas'
    chart.replaceChildren(this.canvas, this.tooltip.element)
    chart.tabIndex = 0
    chart.setAttribute('role', 'application')
    chart.addEventListener('keydown', (event) => this.key(event))
    chart.addEventListener('focus', () => this.focus())
    chart.addEventListener('blur', () => this.leave())
    chart.addEventListener('pointermove', (event) => this.point(event))
    chart.addEventListener('pointerleave', () => this.leave())
    chart.addEventListener('click', (event) => this.click(event))
    chart.after(saveButtons(subject))
    new ResizeObserver(() => this.resize()).observe(chart)
  }

  private resize(): void {
    const width = Math.floor(this.chart.clientWidth)
    if (width === 0 || width === this.width) return
    this.width = width
    this.redraw()
  }

  /** Draws again, after a change of state or width. */
  redraw(): void {
    if (this.width === 0) return
    const before = this.drawing?.marks[this.active]?.mark
    this.drawing = this.subject.draw(this.width)
    this.canvas.replaceChildren(...(this.drawing ? [this.drawing.svg] : []))
    const { same } = this.subject
    const index = same && before !== undefined ? (this.drawing?.marks.findIndex(({ mark }) => same(before, mark)) ?? -1) : this.active
    if (index >= 0 && this.drawing && index < this.drawing.marks.length) this.show(index)
    else this.close()
  }

  private show(index: number): void {
    const place = this.drawing?.marks[index]
    if (!place || !this.drawing) return
    this.active = index
    this.halo.setAttribute('cx', String(place.x))
    this.halo.setAttribute('cy', String(place.y))
    this.drawing.svg.append(...(this.drawing.frame ? [this.cursorAt(place.x, this.drawing.frame)] : []), this.halo)
    this.tooltip.show(this.subject.describe(place.mark), place, this.width, this.locked)
    this.subject.chosen?.(place.mark, this.locked)
  }

  private cursorAt(x: number, { top, bottom }: Frame): SVGLineElement {
    for (const [name, value] of Object.entries({ x1: x, x2: x, y1: top, y2: bottom })) this.cursor.setAttribute(name, String(value))
    return this.cursor
  }

  /** The mark with the nearest x, if any. */
  nearestTo(x: number): M | undefined {
    const marks = this.drawing?.marks ?? []
    return marks.length === 0 ? undefined : marks.reduce((nearest, one) => (Math.abs(one.x - x) < Math.abs(nearest.x - x) ? one : nearest)).mark
  }

  /** Edges of the plot. */
  get frame(): Frame | undefined {
    return this.drawing?.frame
  }

  /** Pins the first mark that is `wanted`, or closes the box. */
  pin(wanted: (mark: M) => boolean): void {
    const index = this.drawing?.marks.findIndex(({ mark }) => wanted(mark)) ?? -1
    if (index < 0) return this.close()
    this.active = index
    this.lock(true)
  }

  private close(): void {
    const was = this.active
    this.active = -1
    this.locked = false
    this.halo.remove()
    this.cursor.remove()
    this.tooltip.hide()
    if (was >= 0) this.subject.chosen?.(null, false)
  }

  /** Closes the box and returns the focus from its links to the chart. */
  private escape(): void {
    if (this.tooltip.element.contains(document.activeElement)) this.chart.focus({ preventScroll: true })
    this.close()
  }

  private leave(): void {
    if (!this.locked) this.close()
  }

  /** Keyboard focus: at the last point of a curve; at the first mark of a grid or of areas. */
  private focus(): void {
    const first = this.drawing?.columns === undefined && !this.drawing?.neighbour ? (this.drawing?.marks.length ?? 0) - 1 : 0
    if (this.active < 0 && this.chart.matches(':focus-visible')) this.show(first)
  }

  private point(event: MouseEvent): void {
    if (this.locked || !this.drawing) return
    const box = this.chart.getBoundingClientRect()
    const [x, y] = [event.clientX - box.left, event.clientY - box.top]
    if (this.drawing.at) {
      const under = this.drawing.at(x, y)
      return under < 0 ? this.close() : this.show(under)
    }
    const by = this.drawing.nearest ?? 'x'
    const distances = this.drawing.marks.map((mark) => Math.hypot(by === 'y' ? 0 : mark.x - x, by === 'x' ? 0 : mark.y - y))
    const nearest = distances.indexOf(Math.min(...distances))
    if (distances[nearest] <= REACH) this.show(nearest)
    else this.close()
  }

  private click(event: MouseEvent): void {
    if (this.tooltip.element.contains(event.target as Node)) return
    // The mark at this place may have changed since the pointer moved.
    this.point(event)
    if (this.active >= 0) this.lock(!this.locked)
  }

  private lock(locked: boolean): void {
    this.locked = locked
    this.show(this.active)
  }

  /** Moves to another row of a grid, in the same column; initially to the first mark. */
  private move(rows: number): void {
    const next = this.active < 0 ? 0 : this.active + rows * (this.drawing?.columns ?? 0)
    if (next >= 0 && next < (this.drawing?.marks.length ?? 0)) this.show(next)
  }

  private key(event: KeyboardEvent): void {
    // Enter follows a link in the box.
    if (event.key === 'Enter' && this.tooltip.element.contains(event.target as Node)) return
    const last = (this.drawing?.marks.length ?? 0) - 1
    const steps: Record<string, () => void> = {
      ArrowLeft: () => this.show(this.active < 0 ? last : Math.max(0, this.active - 1)),
      ArrowRight: () => this.show(Math.min(last, this.active + 1)),
      ArrowUp: () => this.move(-1),
      ArrowDown: () => this.move(1),
      Home: () => this.show(0),
      End: () => this.show(last),
      Enter: () => (this.active < 0 ? this.show(last) : this.lock(!this.locked)),
      Escape: () => this.escape(),
    }
    const drawing = this.drawing
    if (drawing?.neighbour && this.active >= 0) {
      for (const arrow of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'] as const) {
        steps[arrow] = () => this.show(drawing.neighbour!(this.active, arrow))
      }
    }
    const isFlat = drawing?.columns === undefined && !drawing?.neighbour
    const step = isFlat && /^Arrow(Up|Down)$/.test(event.key) ? undefined : steps[event.key]
    if (!step || last < 0 || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    step()
  }
}

/** A text with a link, for a pinned box. */
export interface Linked {
  text: string
  href: string
}

/** A text, or one with a link. */
export type BoxText = string | Linked

/** Heading, and terms with their texts. */
export interface Description {
  heading: string
  rows: [string, BoxText | BoxText[]][]
}

export class Tooltip {
  readonly element = document.createElement('div')

  constructor() {
    this.element.className = 'tip'
    this.element.setAttribute('role', 'status')
    this.element.hidden = true
  }

  /** Shows the description at a place of the chart. `chartWidth` keeps the box inside. */
  show(description: Description, place: { x: number; y: number }, chartWidth: number, locked: boolean): void {
    this.element.replaceChildren(heading(description.heading, locked), list(description.rows))
    this.element.hidden = false
    this.element.classList.toggle('locked', locked)
    const right = place.x < chartWidth / 2
    const room = this.element.offsetWidth
    const left = right ? place.x + 14 : place.x - room - 14
    this.element.style.left = `${Math.max(0, Math.min(left, chartWidth - room))}px`
    // A long box begins above its point, so that it covers less of the page below the chart.
    const height = this.element.parentElement?.clientHeight ?? 0
    this.element.style.top = `${Math.max(0, Math.min(place.y - 20, height - this.element.offsetHeight))}px`
  }

  hide(): void {
    this.element.hidden = true
    this.element.replaceChildren()
  }
}

function heading(text: string, locked: boolean): HTMLElement {
  const head = document.createElement('p')
  head.className = 'tip-head'
  head.textContent = `${text}${locked ? ' – pinned, Escape closes' : ''}`
  return head
}

function list(rows: Description['rows']): HTMLElement {
  const list = document.createElement('dl')
  for (const [term, text] of rows) {
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')]
    dt.textContent = term
    dd.append(...[text].flat().flatMap((part, index) => [...(index === 0 ? [] : [', ']), typeof part === 'string' ? part : linkTo(part)]))
    list.append(dt, dd)
  }
  return list
}

function linkTo({ text, href }: Linked): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = href
  link.textContent = text
  return link
}
