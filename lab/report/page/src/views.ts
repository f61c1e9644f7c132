// The views of a curve: what each takes from a point, and how its figures read. A further view is a further entry.

import { percent, quantity, span, tick } from './figure'
import type { Curve, Estimate, Point } from './model'
import { shortEnd } from './shorten'

export type View = 'rate' | 'speedup' | 'efficiency'

export interface ViewOf {
  /** What its button says. */
  title: string
  /** What one of its figures is called. */
  term(curve: Curve): string
  /** What its axis is called. */
  axis(curve: Curve): string
  unit(curve: Curve): string
  tick(value: number, curve: Curve): string
  /** A point's figure. */
  estimate(point: Point): Estimate | null
  /** The figure of a single repeat: against the median of `base`, as the estimates are. */
  ofRepeat(value: number, curve: Curve, point: Point, base: Point | undefined): number | null
  /** Where the ideal line is at a number of tasks. */
  ideal(tasks: number, curve: Curve, base: Point): number | null
  /** Whether the base has a figure of its own; where it has none, it is 1 by definition. */
  atBase: boolean
  figure(estimate: Estimate, curve: Curve): string
  interval(estimate: Estimate, curve: Curve): string
}

function speedup(value: number, curve: Curve, base: Point | undefined): number | null {
  if (!base?.value || value <= 0) return null
  return curve.direction === 'higher' ? value / base.value.median : base.value.median / value
}

export const VIEWS: Record<View, ViewOf> = {
  rate: {
    title: 'Rate or time',
    term: (curve) => (curve.direction === 'higher' ? 'rate' : 'time'),
    axis: (curve) => `${shortEnd(curve.unit)}, ${curve.direction} is better`,
    unit: (curve) => curve.unit,
    tick: (value, curve) => tick(value, curve.unit),
    estimate: (point) => point.value,
    ofRepeat: (value) => value,
    ideal: (tasks, curve, base) => base.value && (curve.direction === 'higher' ? (base.value.median * tasks) / base.tasks : (base.value.median * base.tasks) / tasks),
    atBase: true,
    figure: (estimate, curve) => quantity(estimate.median, curve.unit),
    interval: (estimate, curve) => span(estimate.low, estimate.high, estimate.median, curve.unit),
  },
  speedup: {
    title: 'Speed-up',
    term: () => 'speed-up',
    axis: (curve) => `speed-up against ${curve.base_tasks} ${curve.base_tasks === 1 ? 'task' : 'tasks'}`,
    unit: () => 'ratio',
    tick: (value) => tick(value, ''),
    estimate: (point) => point.speedup,
    ofRepeat: (value, curve, _point, base) => speedup(value, curve, base),
    ideal: (tasks, _curve, base) => tasks / base.tasks,
    atBase: false,
    figure: (estimate) => quantity(estimate.median, ''),
    interval: (estimate) => span(estimate.low, estimate.high, estimate.median, ''),
  },
  efficiency: {
    title: 'Efficiency',
    term: () => 'efficiency',
    axis: () => 'efficiency',
    unit: () => 'share',
    tick: (value) => `${Math.round(value * 100)} %`,
    estimate: (point) => point.efficiency,
    ofRepeat: (value, curve, point, base) => {
      const ratio = speedup(value, curve, base)
      return ratio === null || !base ? null : (ratio * base.tasks) / point.tasks
    },
    ideal: () => 1,
    atBase: false,
    figure: (estimate) => percent(estimate.median),
    interval: (estimate) => `${(estimate.low * 100).toFixed(1)} … ${(estimate.high * 100).toFixed(1)} %`,
  },
}

export function isView(text: string): text is View {
  return Object.hasOwn(VIEWS, text)
}
