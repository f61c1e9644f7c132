// A curve's points in one of the views: values with intervals, repeats, and the ideal line from the base.

import type { Curve, Point } from './model'
import { VIEWS, type View } from './views'

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

/** The point that speed-up is reckoned from. */
export function baseOf(curve: Curve): Point | undefined {
  return curve.points.find((point) => point.tasks === curve.base_tasks)
}

/** The ideal line, in steps fine enough to bend where it is no line. */
function idealLine(view: View, curve: Curve, base: Point | undefined): Place[] {
  const last = curve.points.at(-1)
  if (!base || !last || last.tasks <= base.tasks) return []
  const steps = 48
  return Array.from({ length: steps + 1 }, (_, step) => base.tasks + ((last.tasks - base.tasks) * step) / steps).flatMap((tasks) => {
    const value = VIEWS[view].ideal(tasks, curve, base)
    return value === null ? [] : [{ tasks, value }]
  })
}

export function seriesOf(curve: Curve, view: View): Series {
  const base = baseOf(curve)
  const series: Series = { marks: [], repeats: [], ideal: idealLine(view, curve, base), missing: [] }
  for (const point of curve.points) {
    const estimate = VIEWS[view].estimate(point)
    if (!estimate) {
      series.missing.push(point)
      continue
    }
    series.marks.push({ point, tasks: point.tasks, value: estimate.median, low: estimate.low, high: estimate.high })
    for (const repeat of point.repeats) {
      const value = VIEWS[view].ofRepeat(repeat, curve, point, base)
      if (value !== null) series.repeats.push({ tasks: point.tasks, value })
    }
  }
  return series
}
