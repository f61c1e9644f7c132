// Draws a workload of a comparison by number of tasks, a curve for each side. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import { spaced } from './chart'
import type { Sheet } from './csv'
import type { Drawing } from './explorer'
import { quantity, tickBetween } from './figure'
import { silent, STYLE } from './frame'
import type { ComparedWorkload } from './model'
import { shortEnd } from './shorten'
import type { Description } from './tooltip'
import { LETTERS, placesOf, SIDES, type Letter } from './values'

const HEIGHT = 300
/** How far single values lie beside their median, in pixels. */
const BESIDE: Record<Letter, number> = { A: -9, B: 9 }

/** How far the name of a curve lies above or below its end, in pixels. */
const ASIDE = 6

/** A side at a number of tasks. */
export interface SidePoint {
  side: Letter
  tasks: number
  median: number
  workload: ComparedWorkload
}

/** The workloads that were compared at several numbers of tasks, those of each together, by tasks; in the order in which the page has them. */
export function curvesOf(workloads: ComparedWorkload[]): ComparedWorkload[][] {
  const known = workloads.filter(({ tasks }) => tasks !== null)
  const names = [...new Set(known.map(({ name }) => name))]
  const curves = names.map((name) => known.filter((workload) => workload.name === name).sort((a, b) => a.tasks! - b.tasks!))
  return curves.filter((curve) => curve.some(({ tasks }) => tasks !== curve[0].tasks))
}

function pointsOf(curve: ComparedWorkload[], side: Letter): SidePoint[] {
  const points = curve.map((workload) => ({ side, tasks: workload.tasks!, median: SIDES[side].figures(workload).median, workload }))
  return points.filter(({ median }) => Number.isFinite(median))
}

/** Where the name of each curve stands at its end: that of the upper one above the point and that of the other below, so that they never lie on each other. */
function endsOf(curve: ComparedWorkload[]): { side: Letter; dy: number }[] {
  const last = (side: Letter) => pointsOf(curve, side).at(-1)?.median ?? -Infinity
  const byHeight = [...LETTERS].sort((a, b) => last(b) - last(a))
  return byHeight.map((side, index) => ({ side, dy: index === 0 ? -ASIDE : ASIDE }))
}

export function drawBoth(curve: ComparedWorkload[], width: number): Drawing<SidePoint> | null {
  const points = LETTERS.flatMap((side) => pointsOf(curve, side))
  if (points.length === 0) return null
  const values = curve.flatMap((workload) => placesOf(workload).map(({ side, value }) => ({ side, value, tasks: workload.tasks! })))
  const tasks = [...new Set(points.map((point) => point.tasks))]
  const high = Math.max(...points.map(({ median }) => median), ...values.map(({ value }) => value)) * 1.08
  const unit = curve[0].unit
  const ends = endsOf(curve)
  const plot = silent(Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 66,
    marginRight: 36,
    marginBottom: 42,
    marginTop: 30,
    style: STYLE,
    x: { type: 'linear', domain: [0, Math.max(...tasks) * 1.08], label: 'tasks', labelAnchor: 'right', labelArrow: 'none', labelOffset: 38, ticks: spaced(tasks, false), tickFormat: 'd', grid: true },
    y: { domain: [0, high], ticks: 6, tickFormat: tickBetween(0, high, unit), grid: true, label: `${shortEnd(unit)}, ${curve[0].direction} is better`, labelArrow: 'none' },
    marks: LETTERS.flatMap((side) => [
      Plot.dot(values.filter((value) => value.side === side), { x: 'tasks', y: 'value', dx: BESIDE[side], r: 2.5, symbol: SIDES[side].symbol, fill: SIDES[side].colour, fillOpacity: 0.35 }),
      Plot.line(pointsOf(curve, side), { x: 'tasks', y: 'median', stroke: SIDES[side].colour, strokeWidth: 2, strokeDasharray: SIDES[side].dashes }),
      Plot.dot(pointsOf(curve, side), { x: 'tasks', y: 'median', r: 4.5, symbol: SIDES[side].symbol, fill: SIDES[side].colour, stroke: 'var(--paper)', strokeWidth: 1 }),
    ]).concat(ends.map(({ side, dy }) => Plot.text(pointsOf(curve, side).slice(-1), { x: 'tasks', y: 'median', dx: 22, dy, text: () => side, fill: 'var(--text)', fontWeight: 600 }))),
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const marks = points.toSorted((a, b) => a.tasks - b.tasks || a.side.localeCompare(b.side))
  return { svg: plot, marks: marks.map((mark) => ({ mark, x: x.apply(mark.tasks), y: y.apply(mark.median) })), nearest: 'both' }
}

/** What is told of a side at a number of tasks. */
export function describeSide({ side, tasks, median, workload }: SidePoint): Description {
  const values = SIDES[side].values(workload).filter((value) => Number.isFinite(value))
  const rows: Description['rows'] = [['workload', workload.name], ['median', quantity(median, workload.unit)]]
  if (values.length > 0) rows.push(['values', `${values.length}, from ${quantity(Math.min(...values), workload.unit)} to ${quantity(Math.max(...values), workload.unit)}`])
  return { heading: `${side} at ${tasks} ${tasks === 1 ? 'task' : 'tasks'}`, rows }
}

/** A row for each side at each number of tasks. */
export function curvesSheet(curve: ComparedWorkload[]): Sheet {
  const rows = LETTERS.flatMap((side) => pointsOf(curve, side)).map(({ side, tasks, median, workload }) => [side, tasks, median, SIDES[side].values(workload).length])
  return { head: ['side', 'tasks', `median (${curve[0].unit})`, 'values'], rows }
}
