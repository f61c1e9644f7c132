// One curve's chart as something to explore: by pointer, by arrow keys, with a box of figures that Enter pins and Escape closes.

import { draw, type Drawing } from './chart'
import { Tooltip } from './tooltip'
import type { State } from './state'
import type { Curve } from './summary'

const SVG = 'http://www.w3.org/2000/svg'
/** A pointer farther than this from every point, sideways in pixels, shows none. */
const REACH = 60

export class Explorer {
  private drawing: Drawing | null = null
  private active = -1
  private locked = false
  private width = 0
  private readonly tooltip = new Tooltip()
  private readonly halo = document.createElementNS(SVG, 'circle')
  private readonly canvas = document.createElement('div')

  constructor(
    private readonly curve: Curve,
    private readonly chart: HTMLElement,
    private state: State,
  ) {
    this.halo.setAttribute('class', 'halo')
    this.halo.setAttribute('r', '8')
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
    new ResizeObserver(() => this.resize()).observe(chart)
  }

  /** Draws anew for another choice of the reader. */
  update(state: State): void {
    this.state = state
    this.redraw()
  }

  private resize(): void {
    const width = Math.floor(this.chart.clientWidth)
    if (width === 0 || width === this.width) return
    this.width = width
    this.redraw()
  }

  private redraw(): void {
    if (this.width === 0) return
    this.drawing = draw(this.curve, this.state, this.width)
    this.canvas.replaceChildren(...(this.drawing ? [this.drawing.svg] : []))
    if (this.active >= 0 && this.drawing && this.active < this.drawing.marks.length) this.show(this.active)
    else this.close()
  }

  private show(index: number): void {
    const place = this.drawing?.marks[index]
    if (!place || !this.drawing) return
    this.active = index
    this.halo.setAttribute('cx', String(place.x))
    this.halo.setAttribute('cy', String(place.y))
    this.drawing.svg.append(this.halo)
    this.tooltip.show(this.curve, this.state.view, place.mark, place, this.width, this.locked)
  }

  private close(): void {
    this.active = -1
    this.locked = false
    this.halo.remove()
    this.tooltip.hide()
  }

  private leave(): void {
    if (!this.locked) this.close()
  }

  /** The keyboard arrives: its first point is the last one, on which the verdict rests. */
  private focus(): void {
    if (this.active < 0 && this.chart.matches(':focus-visible')) this.show((this.drawing?.marks.length ?? 0) - 1)
  }

  private point(event: PointerEvent): void {
    if (this.locked || !this.drawing) return
    const x = event.clientX - this.chart.getBoundingClientRect().left
    const distances = this.drawing.marks.map((mark) => Math.abs(mark.x - x))
    const nearest = distances.indexOf(Math.min(...distances))
    if (distances[nearest] <= REACH) this.show(nearest)
    else this.close()
  }

  private click(event: MouseEvent): void {
    if (this.tooltip.element.contains(event.target as Node)) return
    if (this.active >= 0) this.lock(!this.locked)
  }

  private lock(locked: boolean): void {
    this.locked = locked
    this.show(this.active)
  }

  private key(event: KeyboardEvent): void {
    const last = (this.drawing?.marks.length ?? 0) - 1
    const steps: Record<string, () => void> = {
      ArrowLeft: () => this.show(this.active < 0 ? last : Math.max(0, this.active - 1)),
      ArrowRight: () => this.show(Math.min(last, this.active + 1)),
      Home: () => this.show(0),
      End: () => this.show(last),
      Enter: () => (this.active < 0 ? this.show(last) : this.lock(!this.locked)),
      Escape: () => this.close(),
    }
    const step = steps[event.key]
    if (!step || last < 0 || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    step()
  }
}
