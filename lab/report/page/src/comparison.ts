// Charts of a comparison: all workloads, values of each by size and order, and scaling of both
// sides.

import * as Plot from '@observablehq/plot'
import { silent, spaced, STYLE } from './drawing'
import { type Description, type Drawing, Explorer } from './explorer'
import { percent, quantity, shortEnd, tickBetween } from './figure'
import { describeRow, drawForest, forestSheet, nameOf, rowsOf } from './forest'
import type { ComparedWorkload, Comparison, Side } from './model'
import { cardsOf } from './page'
import type { Sheet } from './saving'

export function showComparison(compared: Comparison): void {
  const forest = document.querySelector<HTMLElement>('.forest .chart')
  const rows = rowsOf(compared)
  if (forest) new Explorer(forest, { draw: (width) => drawForest(rows, width), describe: describeRow, sheet: () => forestSheet(rows), title: `${compared.b.name} against ${compared.a.name}` })
  const both = document.querySelectorAll<HTMLElement>('figure.both .chart')
  for (const [index, curve] of curvesOf(compared.workloads).entries()) {
    if (both[index]) new Explorer(both[index], { draw: (width) => drawBoth(curve, width), describe: describeSide, sheet: () => curvesSheet(curve), title: `${curve[0].name}: scaling` })
  }
  for (const { item: workload, element: card } of cardsOf(compared.workloads)) {
    const [places, name] = [placesOf(workload), nameOf(workload)]
    const describe = (place: (typeof places)[number]) => describeValue(name, workload, place)
    const sheet = () => valuesSheet(workload, places)
    const distribution = card.querySelector<HTMLElement>('.distribution .chart')
    if (distribution) new Explorer(distribution, { draw: (width) => drawDistribution(workload, places, width), describe, sheet, title: `${name}: distribution` })
    const order = card.querySelector<HTMLElement>('.order .chart')
    if (order) new Explorer(order, { draw: (width) => drawOrder(workload, places, width), describe, sheet, title: `${name}: values in order` })
  }
}

export type Letter = 'A' | 'B'

/** One independent value. */
export interface SideValue {
  side: Letter
  /** Its number within its side, from 1. */
  order: number
  value: number
}

interface SideOf {
  figures(workload: ComparedWorkload): Side
  values(workload: ComparedWorkload): number[]
  /** Colour, shape and line differ between the sides. */
  colour: string
  symbol: 'circle' | 'diamond'
  dashes: string
}

export const SIDES: Record<Letter, SideOf> = {
  A: { figures: ({ a }) => a, values: ({ values }) => values[0], colour: 'var(--side-a)', symbol: 'circle', dashes: '5 3' },
  B: { figures: ({ b }) => b, values: ({ values }) => values[1], colour: 'var(--side-b)', symbol: 'diamond', dashes: '' },
}

export const LETTERS = Object.keys(SIDES) as Letter[]

export function placesOf(workload: ComparedWorkload): SideValue[] {
  return LETTERS.flatMap((side) =>
    SIDES[side]
      .values(workload)
      .map((value, order) => ({ side, order: order + 1, value }))
      .filter(({ value }) => Number.isFinite(value)),
  )
}

/** Lowest and highest value, with a margin. */
export function reachOf(places: SideValue[]): [number, number] {
  const values = places.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const room = (high - low || Math.abs(high) * 0.02 || 1) * 0.06
  return [low - room, high + room]
}

/** One row per value. */
export function valuesSheet(workload: ComparedWorkload, places: SideValue[]): Sheet {
  return { head: ['side', 'in order', `value (${workload.unit})`], rows: places.map(({ side, order, value }) => [side, order, value]) }
}

const HEIGHT = 300
/** Distance of single values from their median, in pixels. */
const BESIDE: Record<Letter, number> = { A: -9, B: 9 }

/** Vertical distance of a curve's label from its end, in pixels. */
const ASIDE = 6

/** A side at a number of tasks. */
export interface SidePoint {
  side: Letter
  tasks: number
  median: number
  workload: ComparedWorkload
}

/** Curves of workloads with several numbers of tasks, in the order of the page. */
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

/** Label positions at the ends of curves: above the upper one, below the lower one. */
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

/** The box of a side at a number of tasks. */
export function describeSide({ side, tasks, median, workload }: SidePoint): Description {
  const values = SIDES[side].values(workload).filter((value) => Number.isFinite(value))
  const rows: Description['rows'] = [['workload', workload.name], ['median', quantity(median, workload.unit)]]
  if (values.length > 0) rows.push(['values', `${values.length}, from ${quantity(Math.min(...values), workload.unit)} to ${quantity(Math.max(...values), workload.unit)}`])
  return { heading: `${side} at ${tasks} ${tasks === 1 ? 'task' : 'tasks'}`, rows }
}

/** One row per side and number of tasks. */
export function curvesSheet(curve: ComparedWorkload[]): Sheet {
  const rows = LETTERS.flatMap((side) => pointsOf(curve, side)).map(({ side, tasks, median, workload }) => [side, tasks, median, SIDES[side].values(workload).length])
  return { head: ['side', 'tasks', `median (${curve[0].unit})`, 'values'], rows }
}

/** Vertical places of the strips, below the shares. */
const STRIPS: Record<Letter, number> = { A: -0.2, B: -0.42 }

/** The cumulative share of a side's values, as steps across the axis. */
function steps(places: SideValue[], side: Letter, [low, high]: [number, number]): { value: number; share: number }[] {
  const values = places.filter((place) => place.side === side).map(({ value }) => value).sort((a, b) => a - b)
  if (values.length === 0) return []
  return [{ value: low, share: 0 }, ...values.map((value, index) => ({ value, share: (index + 1) / values.length })), { value: high, share: 1 }]
}

export function drawDistribution(workload: ComparedWorkload, places: SideValue[], width: number): Drawing<SideValue> | null {
  if (places.length === 0) return null
  const reach = reachOf(places)
  const marks = places.toSorted((a, b) => a.value - b.value)
  const plot = silent(Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 52,
    marginRight: 22,
    marginBottom: 42,
    marginTop: 30,
    style: STYLE,
    x: { domain: reach, ticks: Math.max(2, Math.floor(width / 110)), tickFormat: tickBetween(...reach, workload.unit), grid: true, label: `${shortEnd(workload.unit)}, ${workload.direction} is better`, labelArrow: 'none', labelOffset: 38 },
    y: { domain: [-0.54, 1.03], ticks: [0, 0.5, 1], tickFormat: (share: number) => `${share * 100} %`, label: 'share of values up to here', labelArrow: 'none' },
    marks: [
      Plot.ruleY([0], { stroke: 'var(--rule)' }),
      ...LETTERS.flatMap((side) => [
        Plot.line(steps(places, side, reach), { x: 'value', y: 'share', curve: 'step-after', stroke: SIDES[side].colour, strokeWidth: 2, strokeDasharray: SIDES[side].dashes }),
        Plot.dot(places.filter((place) => place.side === side), {
          x: 'value', y: () => STRIPS[side], r: 4.5, symbol: SIDES[side].symbol, fill: SIDES[side].colour, fillOpacity: 0.45, stroke: SIDES[side].colour,
        }),
      ]),
      Plot.text(LETTERS, { frameAnchor: 'left', y: (side: Letter) => STRIPS[side], dx: -16, text: (side: Letter) => side, fill: 'var(--text)', fontWeight: 600 }),
    ],
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  return { svg: plot, marks: marks.map((mark) => ({ mark, x: x.apply(mark.value), y: y.apply(STRIPS[mark.side]) })), nearest: 'both' }
}

/** The box of a value, in this chart and in the one by order. */
export function describeValue(name: string, workload: ComparedWorkload, place: SideValue): Description {
  const median = SIDES[place.side].figures(workload).median
  return {
    heading: `${place.side}, ${workload.independent} ${place.order}`,
    rows: [['workload', name], ['value', quantity(place.value, workload.unit)], ['relative to its median', percent(place.value / median - 1)]],
  }
}

export function drawOrder(workload: ComparedWorkload, places: SideValue[], width: number): Drawing<SideValue> | null {
  if (places.length === 0) return null
  const reach = reachOf(places)
  const last = Math.max(...places.map(({ order }) => order))
  const format = tickBetween(...reach, workload.unit)
  const of = (side: Letter) => places.filter((place) => place.side === side)
  const median = (side: Letter) => SIDES[side].figures(workload).median
  const present = LETTERS.filter((side) => of(side).length > 0)
  const plot = silent(Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 66,
    marginRight: 24,
    marginBottom: 42,
    marginTop: 30,
    style: STYLE,
    x: { domain: [0.5, last + 0.5], ticks: Math.min(last, Math.max(2, Math.floor(width / 60))), tickFormat: (order: number) => (Number.isInteger(order) ? String(order) : ''), label: `${workload.independent}, in order`, labelArrow: 'none', labelOffset: 38 },
    y: { domain: reach, ticks: 6, tickFormat: format, grid: true, label: shortEnd(workload.unit), labelArrow: 'none' },
    marks: [
      Plot.ruleY(present, { y: median, stroke: (side: Letter) => SIDES[side].colour, strokeDasharray: '2 3' }),
      Plot.text(present, { y: median, frameAnchor: 'right', text: (side: Letter) => side, dx: 14, fill: 'var(--text)', fontWeight: 600 }),
      ...LETTERS.flatMap((side) => [
        Plot.line(of(side), { x: 'order', y: 'value', stroke: SIDES[side].colour, strokeOpacity: 0.55, strokeDasharray: SIDES[side].dashes }),
        Plot.dot(of(side), { x: 'order', y: 'value', r: 4, symbol: SIDES[side].symbol, fill: SIDES[side].colour, stroke: 'var(--paper)', strokeWidth: 0.75 }),
      ]),
    ],
    color: { type: 'identity' },
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const marks = places.toSorted((a, b) => a.order - b.order || a.side.localeCompare(b.side))
  return { svg: plot, marks: marks.map((mark) => ({ mark, x: x.apply(mark.order), y: y.apply(mark.value) })), nearest: 'both' }
}
