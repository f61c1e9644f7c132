// Zooms and moves a plot by the pointer: a drag across it chooses a range, a drag with Shift moves it, the wheel zooms with Ctrl (as two fingers do) and moves
// with Shift or sideways. The wheel alone scrolls the page, as everywhere.

import type { Frame } from './explorer'

/** A drag of fewer pixels is a click. */
const CLICK = 5
/** By how much a step of the wheel zooms: one of a mouse has 100 pixels or more, fingers have a few. */
const PER_PIXEL = 0.003
/** Pixels of the wheel in a line and in a page, for browsers that count so. */
const [LINE, PAGE] = [20, 400]

/** What the plot is asked to do. Places are pixels across the chart. */
export interface Zoomed {
  frame(): Frame | undefined
  /** Shows what lies between two places. */
  between(left: number, right: number): void
  /** Shows that many times as much, and keeps the place where it is. */
  zoom(factor: number, at: number): void
  /** Moves the range by a share of it, in whole commits. Returns by which share it has moved. */
  move(share: number): number
}

/** Zooms of less than this wait for the next one: few commits would stay as they are. */
const LEAST_ZOOM = 0.2

export class Zooming {
  private readonly shade = document.createElement('div')
  /** What the wheel and drags have asked for and is too little to show: a share of the range, and the logarithm of a factor. */
  private rest = { share: 0, zoom: 0 }
  /** Whether the last press became a drag. */
  private isDrag = false

  constructor(
    private readonly chart: HTMLElement,
    private readonly plot: Zoomed,
  ) {
    this.shade.className = 'shade'
    this.shade.hidden = true
    chart.append(this.shade)
    chart.addEventListener('pointerdown', (event) => this.drag(event))
    chart.addEventListener('click', (event) => this.swallow(event), { capture: true })
    chart.addEventListener('wheel', (event) => this.wheel(event), { passive: false })
  }

  private drag(event: PointerEvent): void {
    this.isDrag = false
    const frame = this.plot.frame()
    const isBox = (event.target as Element).closest('.tip') !== null
    // Fingers scroll the page; buttons and the strip are there for them.
    if (event.button !== 0 || event.pointerType === 'touch' || !frame || isBox) return
    const place = (now: PointerEvent) => Math.min(frame.right, Math.max(frame.left, now.clientX - this.chart.getBoundingClientRect().left))
    const [start, moves] = [place(event), event.shiftKey]
    let before = start
    const move = (now: PointerEvent) => {
      this.isDrag ||= Math.abs(now.clientX - event.clientX) >= CLICK
      if (!this.isDrag) return
      if (moves) {
        const at = place(now)
        this.move((before - at) / (frame.right - frame.left))
        before = at
      } else this.shadeFrom(Math.min(start, place(now)), Math.max(start, place(now)), frame)
    }
    const end = (last: PointerEvent) => {
      stop.abort()
      this.shade.hidden = true
      if (this.isDrag && !moves && last.type === 'pointerup') this.plot.between(Math.min(start, place(last)), Math.max(start, place(last)))
    }
    const stop = new AbortController()
    const options = { signal: stop.signal }
    addEventListener('pointermove', move, options)
    addEventListener('pointerup', end, options)
    addEventListener('pointercancel', end, options)
  }

  /** The click that ends a drag pins nothing. One by the keyboard, on a link in the box, has no press before it. */
  private swallow(click: MouseEvent): void {
    if (this.isDrag && click.detail > 0) click.stopPropagation()
  }

  private shadeFrom(left: number, right: number, { top, bottom }: Frame): void {
    Object.assign(this.shade.style, { left: `${left}px`, width: `${right - left}px`, top: `${top}px`, height: `${bottom - top}px` })
    this.shade.hidden = false
  }

  private wheel(event: WheelEvent): void {
    const frame = this.plot.frame()
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : event.deltaMode === WheelEvent.DOM_DELTA_PAGE ? PAGE : 1
    const [x, y] = [event.deltaX * unit, event.deltaY * unit]
    const sideways = event.shiftKey && x === 0 ? y : x
    if (!frame || (!event.ctrlKey && Math.abs(sideways) <= (event.shiftKey ? 0 : Math.abs(y)))) return
    event.preventDefault()
    const at = event.clientX - this.chart.getBoundingClientRect().left
    if (event.ctrlKey) this.zoom(y * PER_PIXEL, at)
    else this.move(sideways / (frame.right - frame.left))
  }

  private move(share: number): void {
    this.rest.share += share
    this.rest.share -= this.plot.move(this.rest.share)
  }

  private zoom(by: number, at: number): void {
    this.rest.zoom += by
    if (Math.abs(this.rest.zoom) < LEAST_ZOOM) return
    this.plot.zoom(Math.exp(this.rest.zoom), at)
    this.rest.zoom = 0
  }
}
