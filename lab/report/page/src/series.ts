// A curve's points in one of the three views: values with intervals, repeats, and the ideal line from the base.

import type { Curve, Estimate, Point } from './model'
import type { View } from './state'

/** A point that can be drawn. */
export interface Mark {
  point: Point
  tasks: number
  value: number
  low: number
  high: number
}

/** A single repeat, or a place on the ideal line. */
export interface Place {
  tasks: number
  value: number
}

export interface Series {
  marks: Mark[]
  repeats: Place[]
  ideal: Place[]
  /** Points without a figure. */
  missing: Point[]
}

/** The unit of a view's values: the curve's own, or none for ratios. */
export function unitOf(curve: Curve, view: View): string {
  return view === 'rate' ? curve.unit : ''
}

function estimateOf(point: Point, view: View): Estimate | null {
  return view === 'rate' ? point.value : view === 'speedup' ? point.speedup : point.efficiency
}

/** A repeat's value in the view: against the base's median, as the estimates are. */
function repeatIn(view: View, curve: Curve, point: Point, base: Point | undefined, value: number): number | null {
  if (view === 'rate') return value
  if (!base?.value || value <= 0) return null
  const speedup = curve.direction === 'higher' ? value / base.value.median : base.value.median / value
  return view === 'speedup' ? speedup : (speedup * base.tasks) / point.tasks
}

function idealAt(view: View, curve: Curve, base: Point, tasks: number): number | null {
  if (view === 'efficiency') return 1
  const ratio = tasks / base.tasks
  if (view === 'speedup') return ratio
  if (!base.value) return null
  return curve.direction === 'higher' ? base.value.median * ratio : base.value.median / ratio
}

/** The ideal line, in steps fine enough to bend where it is no line. */
function idealLine(view: View, curve: Curve, base: Point | undefined): Place[] {
  const last = curve.points.at(-1)
  if (!base || !last || last.tasks <= base.tasks) return []
  const steps = 48
  return Array.from({ length: steps + 1 }, (_, step) => base.tasks + ((last.tasks - base.tasks) * step) / steps).flatMap((tasks) => {
    const value = idealAt(view, curve, base, tasks)
    return value === null ? [] : [{ tasks, value }]
  })
}

export function seriesOf(curve: Curve, view: View): Series {
  const base = curve.points.find((point) => point.tasks === curve.base_tasks)
  const series: Series = { marks: [], repeats: [], ideal: idealLine(view, curve, base), missing: [] }
  for (const point of curve.points) {
    const estimate = estimateOf(point, view)
    if (!estimate) {
      series.missing.push(point)
      continue
    }
    series.marks.push({ point, tasks: point.tasks, value: estimate.median, low: estimate.low, high: estimate.high })
    for (const repeat of point.repeats) {
      const value = repeatIn(view, curve, point, base, repeat)
      if (value !== null) series.repeats.push({ tasks: point.tasks, value })
    }
  }
  return series
}
