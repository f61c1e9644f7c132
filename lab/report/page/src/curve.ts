// A curve of a run: its views, drawing, box and CSV, and the shares of CPU time.

import * as Plot from '@observablehq/plot'
import { LEGEND_ROOM, silent, spaced, STYLE, withLegend } from './drawing'
import type { Description, Drawing } from './explorer'
import { logTicks, percent, quantity, shortEnd, span, tick } from './figure'
import type { Curve, Estimate, Point, TimeShares } from './model'
import type { State } from './run'
import type { Sheet, Value } from './saving'

export type View = 'rate' | 'speedup' | 'efficiency'

export interface ViewOf {
  /** The label of its button. */
  title: string
  /** The name of its values. */
  term(curve: Curve): string
  /** The label of its axis. */
  axis(curve: Curve): string
  unit(curve: Curve): string
  tick(value: number, curve: Curve): string
  /** A point's value. */
  estimate(point: Point): Estimate | null
  /** The value of a single repeat, relative to the median of `base`. */
  ofRepeat(value: number, curve: Curve, point: Point, base: Point | undefined): number | null
  /** The ideal value at a number of tasks. */
  ideal(tasks: number, curve: Curve, base: Point): number | null
  /** True if the base has a value of its own; otherwise it is 1 by definition. */
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

/** A point of the drawing. */
export interface Mark {
  point: Point
  tasks: number
  value: number
  low: number
  high: number
}

/** A single repeat, or a point of the ideal line. */
export interface CurvePlace {
  tasks: number
  value: number
}

export interface Series {
  marks: Mark[]
  repeats: CurvePlace[]
  ideal: CurvePlace[]
  /** Points without a value. */
  missing: Point[]
}

/** The base of the speed-up. */
export function baseOf(curve: Curve): Point | undefined {
  return curve.points.find((point) => point.tasks === curve.base_tasks)
}

/** The ideal line, in steps small enough for a curve. */
function idealLine(view: View, curve: Curve, base: Point | undefined): CurvePlace[] {
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

interface Size {
  height: number
  margins: { marginLeft: number; marginRight: number; marginTop: number; marginBottom: number }
  ticks: number
}

const LARGE: Size = { height: 300, margins: { marginLeft: 62, marginRight: 18, marginTop: 30, marginBottom: 40 }, ticks: 6 }
/** Cards in a row. */
const SMALL: Size = { height: 160, margins: { marginLeft: 54, marginRight: 14, marginTop: 24, marginBottom: 40 }, ticks: 3 }
/** Space for labels beside the last point, in pixels. */
const WORDS = 36

/** The drawing; `null` without values. */
export function draw(curve: Curve, state: State, width: number, small: boolean): Drawing<Mark> | null {
  const size = small ? SMALL : LARGE
  const series = seriesOf(curve, state.view)
  if (series.marks.length === 0) return null
  const plot = silent(Plot.plot({
    width,
    height: size.height,
    ...size.margins,
    ...(series.missing.length > 0 ? { marginRight: WORDS } : {}),
    style: STYLE,
    x: xAxis(curve, state.log, size),
    y: yAxis(curve, state, series, size),
    marks: marks(series),
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  return { svg: plot, marks: series.marks.map((mark) => ({ mark, x: x.apply(mark.tasks), y: y.apply(mark.value) })) }
}

function xAxis(curve: Curve, log: boolean, size: Size): Plot.ScaleOptions {
  const tasks = curve.points.map((point) => point.tasks)
  const [first, last] = [Math.min(...tasks), Math.max(...tasks)]
  const common = { label: 'tasks', labelAnchor: 'right', labelOffset: size.margins.marginBottom - 6, labelArrow: 'none', ticks: spaced(tasks, log), tickFormat: 'd', grid: true } as const
  return log
    ? { ...common, type: 'log', base: 2, domain: [first / 1.15, last * 1.15] }
    : { ...common, type: 'linear', domain: [0, last * 1.04] }
}

function yAxis(curve: Curve, state: State, series: Series, size: Size): Plot.ScaleOptions {
  const view = VIEWS[state.view]
  const values = [
    ...series.marks.flatMap((mark) => [mark.low, mark.high]),
    ...series.repeats.map((repeat) => repeat.value),
    ...series.ideal.map((place) => place.value),
  ].filter((value) => Number.isFinite(value))
  const [low, high] = [Math.min(...values.filter((value) => value > 0)), Math.max(...values)]
  const common = { label: view.axis(curve), labelArrow: 'none', tickFormat: (value: number) => view.tick(value, curve), grid: true, nice: false } as const
  return state.log
    ? { ...common, type: 'log', domain: [low / 1.25, high * 1.25], ticks: logTicks(low / 1.25, high * 1.25, size.ticks) }
    : { ...common, type: 'linear', domain: [0, high * 1.08], ticks: size.ticks }
}

function marks(series: Series): Plot.Markish[] {
  const end = series.ideal.at(-1)
  const above = end !== undefined && (series.marks.at(-1)?.value ?? 0) > end.value
  return [
    Plot.line(series.ideal, { x: 'tasks', y: 'value', stroke: 'var(--ideal)', strokeDasharray: '5 4', strokeWidth: 1.5 }),
    Plot.text(end ? [end] : [], {
      x: 'tasks', y: 'value', text: () => 'ideal', fill: 'var(--ideal-text)', stroke: 'var(--paper)', strokeWidth: 4, textAnchor: 'end', dx: -4,
      dy: above ? 12 : -8,
    }),
    Plot.dot(series.repeats, { x: 'tasks', y: 'value', dx: -8, r: 2.5, fill: 'var(--accent)', fillOpacity: 0.35 }),
    Plot.line(series.marks, { x: 'tasks', y: 'value', stroke: 'var(--accent)', strokeWidth: 2 }),
    Plot.link(series.marks.filter((mark) => mark.high > mark.low), {
      x1: 'tasks', x2: 'tasks', y1: 'low', y2: 'high', stroke: 'var(--accent)', strokeWidth: 1.75, marker: 'tick-x',
    }),
    Plot.dot(series.marks, { x: 'tasks', y: 'value', r: 4, fill: 'var(--accent)', stroke: 'var(--paper)', strokeWidth: 1.25 }),
    Plot.text(series.missing, {
      x: 'tasks', frameAnchor: 'bottom', text: (point) => (point.failures.length ? '✕ failed' : '✕ no figure'),
      fill: 'var(--bad)', dy: -6, textAnchor: 'middle',
    }),
  ]
}

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
  if (base) rows.push(['base', 'speed-up and efficiency are relative to this point'])
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

const COLOURS: Record<keyof TimeShares, string> = { user: 'var(--user)', system: 'var(--system)', idle: 'var(--sunk)', steal: 'var(--steal)' }
const PARTS = Object.keys(COLOURS) as (keyof TimeShares)[]
const ROW_HEIGHT = 34
/** Minimum share with space for its number. */
const ROOM_FOR_NUMBER = 0.08

interface Piece {
  tasks: number
  part: keyof TimeShares
  share: number
}

export function drawShares(curve: Curve, width: number): { svg: SVGSVGElement } {
  const pieces: Piece[] = curve.points.flatMap(({ tasks, shares }) => (shares ? PARTS.map((part) => ({ tasks, part, share: shares[part] })) : []))
  const rows = new Set(pieces.map(({ tasks }) => tasks)).size
  const svg = silent(Plot.plot({
    width,
    height: rows * ROW_HEIGHT + LEGEND_ROOM + 40,
    marginLeft: 52,
    marginRight: 24,
    marginBottom: 40,
    marginTop: LEGEND_ROOM,
    style: STYLE,
    x: { domain: [0, 1], ticks: 5, tickFormat: (share: number) => `${share * 100} %`, label: null },
    y: { type: 'band', padding: 0.2, label: 'tasks', labelArrow: 'none', tickSize: 0 },
    marks: [
      Plot.barX(pieces, Plot.stackX({ x: 'share', y: 'tasks', order: PARTS, z: 'part', fill: (piece: Piece) => COLOURS[piece.part], stroke: 'var(--muted)', strokeWidth: 0.5 })),
      Plot.text(pieces, Plot.stackX({
        x: 'share', y: 'tasks', order: PARTS, z: 'part', text: ({ share }: Piece) => (share >= ROOM_FOR_NUMBER ? percent(share) : ''),
        fill: ({ part }: Piece) => (part === 'idle' ? 'var(--text)' : 'var(--part-text)'),
      })),
    ],
    color: { type: 'identity' },
  }))
  withLegend(svg, 'time of all CPUs', PARTS.map((part) => ({ words: part, fill: COLOURS[part] })))
  return { svg }
}

/** One row per number of tasks. */
export function sharesSheet(curve: Curve): Sheet {
  const head = ['tasks', ...PARTS.map((part) => `${part} (share of all CPUs’ time)`)]
  return { head, rows: curve.points.flatMap(({ tasks, shares }) => (shares ? [[tasks, ...PARTS.map((part) => shares[part])]] : [])) }
}
