// Draws one curve: points with intervals, repeats as faint dots beside them, the ideal line. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import type { Drawing } from './explorer'
import { silent, STYLE } from './frame'
import type { Curve } from './model'
import { seriesOf, type Mark, type Series } from './series'
import type { State } from './state'
import { logTicks } from './ticks'
import { VIEWS } from './views'

interface Size {
  height: number
  margins: { marginLeft: number; marginRight: number; marginTop: number; marginBottom: number }
  ticks: number
}

const LARGE: Size = { height: 300, margins: { marginLeft: 62, marginRight: 18, marginTop: 30, marginBottom: 40 }, ticks: 6 }
/** One of several in a row. */
const SMALL: Size = { height: 160, margins: { marginLeft: 54, marginRight: 14, marginTop: 24, marginBottom: 40 }, ticks: 3 }
/** Room for words beside the last point, in pixels. */
const WORDS = 36

/** The drawing, or nothing when there is no figure to draw. */
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

/** The numbers of tasks that can be written without touching each other; the last always. */
export function spaced(tasks: number[], log: boolean): number[] {
  const place = (value: number) => (log ? Math.log(value) : value)
  const room = (place(Math.max(...tasks)) - (log ? place(Math.min(...tasks)) : 0)) / 18
  const kept: number[] = []
  for (const value of tasks.toReversed()) {
    if (kept.length === 0 || place(kept.at(-1)!) - place(value) >= room) kept.push(value)
  }
  return kept.reverse()
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
