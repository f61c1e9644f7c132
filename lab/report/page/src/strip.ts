// The strip above a plot: the whole history, and the range of it that is shown. Dragging across it chooses another range; what the buttons do is the same.

import { lookOf } from './certainty'
import type { Timeline } from './model'

const SVG = 'http://www.w3.org/2000/svg'
const HEIGHT = 44
/** A drag of fewer pixels is a click. */
const CLICK = 4

export class Strip {
  private readonly svg = document.createElementNS(SVG, 'svg')
  private readonly frame = element('rect', { class: 'window', y: 0, height: HEIGHT })
  private readonly cursor = element('line', { class: 'cursor', y1: 0, y2: HEIGHT })
  private range = { from: 0, to: 0 }
  private inFocus: number | null = null

  /** `choose` is told the range that is dragged across, and whether the drag has ended. */
  constructor(
    private readonly host: HTMLElement,
    private timeline: Timeline,
    private readonly choose: (from: number, to: number) => void,
  ) {
    this.svg.setAttribute('aria-hidden', 'true')
    this.svg.setAttribute('height', String(HEIGHT))
    host.replaceChildren(this.svg)
    host.addEventListener('pointerdown', (event) => this.drag(event))
    new ResizeObserver(() => this.draw()).observe(host)
  }

  /** Takes a newer state of the history over. */
  update(timeline: Timeline): void {
    this.timeline = timeline
    this.draw()
  }

  show(from: number, to: number): void {
    this.range = { from, to }
    this.frame.setAttribute('x', String(this.x(from)))
    this.frame.setAttribute('width', String(Math.max(3, this.x(to + 1) - this.x(from))))
  }

  /** Marks the commit in focus, in step with the plot; nothing for none. */
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
    const steps = this.timeline.steps.map((step) => element('line', { class: lookOf(step).name, x1: this.x(step.by), x2: this.x(step.by), y1: 0, y2: HEIGHT }))
    const failed = this.timeline.whole.filter(({ unusable }) => unusable > 0).map(({ first, last }) => this.x((first + last + 1) / 2))
    const unusable = failed.map((x) => element('line', { class: 'unusable', x1: x, x2: x, y1: HEIGHT - 6, y2: HEIGHT }))
    this.svg.setAttribute('width', String(this.host.clientWidth))
    this.svg.replaceChildren(
      element('polygon', { class: 'range', points: band.join(' ') }),
      element('polyline', { class: 'median', points: path((level) => level.median).join(' ') }),
      ...steps,
      ...unusable,
      this.frame,
    )
    this.show(this.range.from, this.range.to)
    this.point(this.inFocus)
  }

  /** From outside the window a new range; from inside it moves, unless it is all there is. */
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

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}
