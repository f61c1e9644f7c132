// A chart as something to explore: by pointer, by arrow keys, with a box of figures that Enter pins and Escape closes. What is drawn, and what
// the box says, its subject knows.

import { saveButtons, type Saved } from './saving'
import { Tooltip, type Description } from './tooltip'

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
  /** Marks from left to right, with their place in the drawing; of a grid, row by row. */
  marks: { mark: M; x: number; y: number }[]
  /** The edges of what is plotted, if the mark in focus has an upright line through all of it. */
  frame?: Frame
  /** Marks in a row of a grid; left out where there are no rows. */
  columns?: number
  /** By which distance the pointer finds a mark: sideways, unless it says otherwise. */
  nearest?: 'x' | 'y' | 'both'
  /** Where an arrow key leads from a mark, in a drawing that is neither a curve nor a grid. It begins at its first mark. */
  neighbour?(index: number, arrow: Arrow): number
  /** The mark at a place, if marks are areas; -1 for none. */
  at?(x: number, y: number): number
}

export interface Subject<M> extends Saved {
  /** The drawing, or nothing when there is no figure to draw. */
  draw(width: number): Drawing<M> | null
  describe(mark: M): Description
  /** Whether two marks, of an earlier drawing and a later one, are the same; otherwise those at the same place among all are. */
  same?(before: M, now: M): boolean
  /** Told which mark the box is about, and whether it is pinned. */
  chosen?(mark: M | null, locked: boolean): void
}

const SVG = 'http://www.w3.org/2000/svg'
/** A pointer farther than this from every mark shows none, in pixels. */
const REACH = 60

export class Explorer<M> {
  private drawing: Drawing<M> | null = null
  private active = -1
  private locked = false
  private width = 0
  private readonly tooltip = new Tooltip()
  private readonly halo = document.createElementNS(SVG, 'circle')
  private readonly cursor = document.createElementNS(SVG, 'line')
  private readonly canvas = document.createElement('div')

  constructor(
    private readonly chart: HTMLElement,
    private readonly subject: Subject<M>,
  ) {
    this.halo.setAttribute('class', 'halo')
    this.halo.setAttribute('r', '8')
    this.cursor.setAttribute('class', 'cursor')
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

  /** Draws anew, for another choice of the reader or another width. */
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

  /** The mark nearest to a place across; nothing without marks. */
  nearestTo(x: number): M | undefined {
    const marks = this.drawing?.marks ?? []
    return marks.length === 0 ? undefined : marks.reduce((nearest, one) => (Math.abs(one.x - x) < Math.abs(nearest.x - x) ? one : nearest)).mark
  }

  /** The edges of what is plotted. */
  get frame(): Frame | undefined {
    return this.drawing?.frame
  }

  /** Pins the box at the first mark that is `wanted`; without one, closes it. */
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

  /** Closes the box. The keyboard is in the chart then, also if it was on a link of the box. */
  private escape(): void {
    if (this.tooltip.element.contains(document.activeElement)) this.chart.focus({ preventScroll: true })
    this.close()
  }

  private leave(): void {
    if (!this.locked) this.close()
  }

  /** The keyboard arrives: at the last point of a curve, on which the verdict rests; at the first mark of a grid, which has most, or of areas. */
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
    // What was drawn since the pointer came here may have another mark at this place.
    this.point(event)
    if (this.active >= 0) this.lock(!this.locked)
  }

  private lock(locked: boolean): void {
    this.locked = locked
    this.show(this.active)
  }

  /** Goes to another row of a grid, in the same column; from nowhere to the first mark. */
  private move(rows: number): void {
    const next = this.active < 0 ? 0 : this.active + rows * (this.drawing?.columns ?? 0)
    if (next >= 0 && next < (this.drawing?.marks.length ?? 0)) this.show(next)
  }

  private key(event: KeyboardEvent): void {
    // Enter on a link in the box follows it.
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
