// The exact figures of one point, in a box beside it that is also read out.

import { percent, quantity, span } from './figure'
import { unitOf, type Mark } from './series'
import { VIEWS, type View } from './state'
import type { Curve, Estimate } from './summary'

export class Tooltip {
  readonly element = document.createElement('div')

  constructor() {
    this.element.className = 'tip'
    this.element.setAttribute('role', 'status')
    this.element.hidden = true
  }

  /** Shows the point's figures at that place of the chart; `chartWidth` keeps the box inside. */
  show(curve: Curve, view: View, mark: Mark, place: { x: number; y: number }, chartWidth: number, locked: boolean): void {
    this.element.replaceChildren(heading(mark.point.tasks, locked), list(rows(curve, view, mark)))
    this.element.hidden = false
    this.element.classList.toggle('locked', locked)
    const right = place.x < chartWidth / 2
    const room = this.element.offsetWidth
    const left = right ? place.x + 14 : place.x - room - 14
    this.element.style.left = `${Math.max(0, Math.min(left, chartWidth - room))}px`
    this.element.style.top = `${Math.max(0, place.y - 20)}px`
  }

  hide(): void {
    this.element.hidden = true
    this.element.replaceChildren()
  }
}

function heading(tasks: number, locked: boolean): HTMLElement {
  const head = document.createElement('p')
  head.className = 'tip-head'
  head.textContent = `${tasks} ${tasks === 1 ? 'task' : 'tasks'}${locked ? ' – pinned, Escape closes' : ''}`
  return head
}

function list(rows: [string, string][]): HTMLElement {
  const list = document.createElement('dl')
  for (const [term, text] of rows) {
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')]
    dt.textContent = term
    dd.textContent = text
    list.append(dt, dd)
  }
  return list
}

/** What the box says: the view's own figure first, then the others. */
function rows(curve: Curve, view: View, mark: Mark): [string, string][] {
  const point = mark.point
  const base = curve.base_tasks === point.tasks
  const all: [View, Estimate | null][] = [['rate', point.value], ['speedup', point.speedup], ['efficiency', point.efficiency]]
  const first = all.filter(([name]) => name === view)
  const rows: [string, string][] = []
  for (const [name, estimate] of [...first, ...all.filter(([other]) => other !== view)]) {
    if (!estimate || (base && name !== 'rate')) continue
    rows.push([name === 'rate' ? (curve.direction === 'higher' ? 'rate' : 'time') : VIEWS[name].toLowerCase(), figure(curve, name, estimate)])
    rows.push(['interval', interval(curve, name, estimate)])
  }
  if (base) rows.push(['base', 'speed-up and efficiency are reckoned from here'])
  if (point.value) rows.push(['n', `${point.value.n} ${point.value.n === 1 ? 'repeat' : 'repeats'}`])
  if (point.system_share) rows.push(['system', `${percent(point.system_share.median)} of the tasks' CPU time`])
  for (const [text, count] of counted(point.failures)) rows.push(['failed', count > 1 ? `${text} (${count}×)` : text])
  return rows
}

function figure(curve: Curve, view: View, estimate: Estimate): string {
  return view === 'efficiency' ? percent(estimate.median) : quantity(estimate.median, unitOf(curve, view))
}

function interval(curve: Curve, view: View, estimate: Estimate): string {
  const ends =
    view === 'efficiency'
      ? `${(estimate.low * 100).toFixed(1)} … ${(estimate.high * 100).toFixed(1)} %`
      : span(estimate.low, estimate.high, estimate.median, unitOf(curve, view))
  return `${ends}, coverage ${percent(estimate.coverage)}`
}

function counted(texts: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}
