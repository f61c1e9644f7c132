// Choice of a history's range by pointer: the strip above the plot, and drags and the wheel in the
// plot.

import { lookOf, shape } from './drawing'
import type { Frame } from './explorer'
import type { Timeline } from './model'

const HEIGHT = 44
/** Maximum pixels of a click. */
const CLICK = 5

export class Strip {
  private readonly svg = shape('svg', { height: HEIGHT, 'aria-hidden': 'true' })
  private readonly frame = shape('rect', { class: 'window', y: 0, height: HEIGHT })
  private readonly cursor = shape('line', { class: 'cursor', y1: 0, y2: HEIGHT })
  private range = { from: 0, to: 0 }
  private inFocus: number | null = null

  /** `choose` receives the dragged range. */
  constructor(
    private readonly host: HTMLElement,
    private timeline: Timeline,
    private readonly choose: (from: number, to: number) => void,
  ) {
    host.replaceChildren(this.svg)
    host.addEventListener('pointerdown', (event) => this.drag(event))
    new ResizeObserver(() => this.draw()).observe(host)
  }

  /** Replaces the history by a newer state. */
  update(timeline: Timeline): void {
    this.timeline = timeline
    this.draw()
  }

  show(from: number, to: number): void {
    this.range = { from, to }
    this.frame.setAttribute('x', String(this.x(from)))
    this.frame.setAttribute('width', String(Math.max(3, this.x(to + 1) - this.x(from))))
  }

  /** Marks the commit in focus; `null` for none. */
  point(position: number | null): void {
    this.inFocus = position
    if (position === null) return this.cursor.remove()
    for (const name of ['x1', 'x2']) this.cursor.setAttribute(name, String(this.x(position + 0.5)))
    this.svg.append(this.cursor)
  }

  private x(position: number): number {
    return (position / Math.max(1, this.timeline.commits)) * this.host.clientWidth
  }

  private position(clientX: number): number {
    const box = this.host.getBoundingClientRect()
    const share = (clientX - box.left) / Math.max(1, box.width)
    return Math.min(this.timeline.commits - 1, Math.max(0, Math.floor(share * this.timeline.commits)))
  }

  private draw(): void {
    const levels = this.timeline.whole.flatMap(({ first, last, level }) => (level ? [{ x: this.x((first + last + 1) / 2), level }] : []))
    const [least, most] = [Math.min(...levels.map(({ level }) => level.low)), Math.max(...levels.map(({ level }) => level.high))]
    const y = (value: number) => 3 + (HEIGHT - 6) * (most > least ? 1 - (value - least) / (most - least) : 0.5)
    const path = (value: (level: { low: number; median: number; high: number }) => number, order = levels) => order.map(({ x, level }) => `${x.toFixed(1)} ${y(value(level)).toFixed(1)}`)
    const band = [...path((level) => level.high), ...path((level) => level.low, levels.toReversed())]
    const steps = this.timeline.steps.map((step) => shape('line', { class: lookOf(step).name, x1: this.x(step.by), x2: this.x(step.by), y1: 0, y2: HEIGHT }))
    const failed = this.timeline.whole.filter(({ unusable }) => unusable > 0).map(({ first, last }) => this.x((first + last + 1) / 2))
    const unusable = failed.map((x) => shape('line', { class: 'unusable', x1: x, x2: x, y1: HEIGHT - 6, y2: HEIGHT }))
    this.svg.setAttribute('width', String(this.host.clientWidth))
    this.svg.replaceChildren(
      shape('polygon', { class: 'range', points: band.join(' ') }),
      shape('polyline', { class: 'median', points: path((level) => level.median).join(' ') }),
      ...steps,
      ...unusable,
      this.frame,
    )
    this.show(this.range.from, this.range.to)
    this.point(this.inFocus)
  }

  /**
   * A drag from outside the window chooses a range; from inside it moves the window, unless it
   * covers everything.
   */
  private drag(event: PointerEvent): void {
    if (event.button !== 0) return
    const start = this.position(event.clientX)
    const { from, to } = this.range
    const moves = start >= from && start <= to && to - from + 1 < this.timeline.commits
    this.host.setPointerCapture(event.pointerId)
    const move = (now: PointerEvent) => {
      if (Math.abs(now.clientX - event.clientX) < CLICK) return
      const at = this.position(now.clientX)
      if (!moves) return this.choose(Math.min(start, at), Math.max(start, at))
      const by = Math.max(-from, Math.min(this.timeline.commits - 1 - to, at - start))
      this.choose(from + by, to + by)
    }
    const end = () => {
      this.host.removeEventListener('pointermove', move)
      this.host.removeEventListener('pointerup', end)
      this.host.removeEventListener('pointercancel', end)
    }
    this.host.addEventListener('pointermove', move)
    this.host.addEventListener('pointerup', end)
    this.host.addEventListener('pointercancel', end)
  }
}

/** Zoom per pixel of the wheel. A step of a mouse wheel has at least 100 pixels. */
const PER_PIXEL = 0.003
/** Pixels per line and per page, for browsers with these units. */
const [LINE, PAGE] = [20, 400]

/** A plot that can be zoomed. Places are horizontal pixels of the chart. */
export interface Zoomed {
  frame(): Frame | undefined
  /** Shows the range between two places. */
  between(left: number, right: number): void
  /** Changes the shown range by a factor, around a place. */
  zoom(factor: number, at: number): void
  /** Moves the range by a share of it, in whole commits. Returns the moved share. */
  move(share: number): number
}

/** Minimum zoom; smaller ones accumulate, since a range has whole commits. */
const LEAST_ZOOM = 0.2

export class Zooming {
  private readonly shade = document.createElement('div')
  /** Accumulated movement and zoom: a share of the range, and the logarithm of a factor. */
  private rest = { share: 0, zoom: 0 }
  /** True if the last press became a drag. */
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
    // Touch scrolls the page; buttons and strip zoom instead.
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

  /**
   * The click at the end of a drag pins nothing. A keyboard click on a link of the box has no press
   * before it.
   */
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
