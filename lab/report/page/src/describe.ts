// What the box beside a point of a curve says: the view's own figure first, then the others.

import { percent } from './figure'
import type { Curve } from './model'
import type { Mark } from './series'
import type { Description } from './tooltip'
import { VIEWS, type View } from './views'

export function describe(curve: Curve, view: View, mark: Mark): Description {
  const tasks = mark.point.tasks
  return { heading: `${tasks} ${tasks === 1 ? 'task' : 'tasks'}`, rows: rows(curve, view, mark) }
}

function rows(curve: Curve, view: View, mark: Mark): [string, string][] {
  const point = mark.point
  const base = curve.base_tasks === point.tasks
  const rows: [string, string][] = []
  for (const of of new Set([VIEWS[view], ...Object.values(VIEWS)])) {
    const estimate = of.estimate(point)
    if (!estimate || (base && !of.atBase)) continue
    rows.push([of.term(curve), of.figure(estimate, curve)])
    rows.push(['interval', `${of.interval(estimate, curve)}, coverage ${percent(estimate.coverage)}`])
  }
  if (base) rows.push(['base', 'speed-up and efficiency are reckoned from here'])
  if (point.value) rows.push(['n', `${point.value.n} ${point.value.n === 1 ? 'repeat' : 'repeats'}`])
  if (point.system_share) rows.push(['system', `${percent(point.system_share.median)} of the tasks' CPU time`])
  for (const [text, count] of counted(point.failures.map((failure) => failure.text ?? failure.cause))) rows.push(['failed', count > 1 ? `${text} (${count}×)` : text])
  return rows
}

function counted(texts: string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}
