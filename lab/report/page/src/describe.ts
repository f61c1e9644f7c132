// What the box beside a point of a curve says: the view's own figure first, then the others.

import { percent, quantity, span } from './figure'
import type { Curve, Estimate } from './model'
import { unitOf, type Mark } from './series'
import { VIEWS, type View } from './state'
import type { Description } from './tooltip'

export function describe(curve: Curve, view: View, mark: Mark): Description {
  const tasks = mark.point.tasks
  return { heading: `${tasks} ${tasks === 1 ? 'task' : 'tasks'}`, rows: rows(curve, view, mark) }
}

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
  for (const [text, count] of counted(point.failures.map((failure) => failure.text ?? failure.cause))) rows.push(['failed', count > 1 ? `${text} (${count}×)` : text])
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
