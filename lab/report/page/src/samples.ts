// The data of a curve as a table: a row for each repeat, with the figures of its point beside it.

import type { Sheet, Value } from './csv'
import type { Curve, Estimate, Point } from './model'
import { baseOf } from './series'
import { VIEWS } from './views'

export function samplesOf(curve: Curve): Sheet {
  const views = Object.values(VIEWS)
  const head = [
    'tasks', 'repeat', ...views.map((view) => `${view.term(curve)} (${view.unit(curve)})`),
    ...views.flatMap((view) => ['median', 'low', 'high'].map((end) => `${end} of ${view.term(curve)} (${view.unit(curve)})`)),
    'coverage of the interval (share)', 'system (share of the tasks’ CPU time)',
    ...['user', 'system', 'idle', 'steal'].map((part) => `machine ${part} (share of all CPUs’ time)`), 'failures',
  ]
  return { head, rows: curve.points.flatMap((point) => rowsOf(curve, point)) }
}

function rowsOf(curve: Curve, point: Point): Value[][] {
  const views = Object.values(VIEWS)
  const base = baseOf(curve)
  const { shares } = point
  const beside: Value[] = [
    ...views.flatMap((view) => endsOf(view.estimate(point))), point.value?.coverage, point.system_share?.median,
    shares?.user, shares?.system, shares?.idle, shares?.steal, point.failures.map((failure) => failure.text ?? failure.cause).join('; '),
  ]
  if (point.repeats.length === 0) return [[point.tasks, null, ...views.map(() => null), ...beside]]
  return point.repeats.map((value, index) => [point.tasks, index + 1, ...views.map((view) => view.ofRepeat(value, curve, point, base)), ...beside])
}

export function endsOf(estimate: Estimate | null): Value[] {
  return estimate ? [estimate.median, estimate.low, estimate.high] : [null, null, null]
}
