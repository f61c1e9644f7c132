// Draws transfers per operation by number of CPUs. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import { spaced } from './chart'
import type { Sheet } from './csv'
import type { Drawing } from './explorer'
import { percent, quantity, tick } from './figure'
import { silent, STYLE } from './frame'
import type { LensCurve, LensPoint } from './model'
import { endsOf } from './samples'
import { shortEnd } from './shorten'
import type { Description } from './tooltip'

const HEIGHT = 260

/** The drawing, or nothing when no number of CPUs has a figure. */
export function drawGrowth(curve: LensCurve, width: number): Drawing<LensPoint> | null {
  const points = curve.points.filter((point) => point.transfers)
  if (points.length === 0) return null
  const median = (point: LensPoint) => point.transfers!.median
  const all = curve.points.map((point) => point.cpus)
  const most = Math.max(...points.map((point) => point.transfers!.high), 0.01)
  const plot = silent(Plot.plot({
    width,
    height: HEIGHT,
    marginLeft: 62,
    marginRight: points.length < curve.points.length ? 36 : 18,
    marginBottom: 40,
    marginTop: 30,
    style: STYLE,
    x: {
      type: 'log', base: 2, domain: [Math.min(...all) / 1.15, Math.max(...all) * 1.15], ticks: spaced(all, true), tickFormat: 'd', grid: true,
      label: 'CPUs', labelAnchor: 'right', labelOffset: 34, labelArrow: 'none',
    },
    y: { domain: [0, most * 1.08], ticks: 5, tickFormat: (value: number) => tick(value, ''), grid: true, label: `transfers per ${shortEnd(curve.operation)}`, labelArrow: 'none' },
    marks: [
      Plot.line(points, { x: 'cpus', y: median, stroke: 'var(--accent)', strokeWidth: 2 }),
      Plot.link(points.filter((point) => point.transfers!.high > point.transfers!.low), {
        x1: 'cpus', x2: 'cpus', y1: (point: LensPoint) => point.transfers!.low, y2: (point: LensPoint) => point.transfers!.high,
        stroke: 'var(--accent)', strokeWidth: 1.75, marker: 'tick-x',
      }),
      Plot.dot(points, { x: 'cpus', y: median, r: 4, fill: 'var(--accent)', stroke: 'var(--paper)', strokeWidth: 1.25 }),
      Plot.text(curve.points.filter((point) => !point.transfers), {
        x: 'cpus', frameAnchor: 'bottom', text: () => '✕ no figure', fill: 'var(--bad)', dy: -6, textAnchor: 'middle',
      }),
    ],
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  return { svg: plot, marks: points.map((mark) => ({ mark, x: x.apply(mark.cpus), y: y.apply(median(mark)) })) }
}

export function describeGrowth(curve: LensCurve, point: LensPoint): Description {
  const rows: [string, string][] = []
  if (point.transfers) rows.push(['transfers', `${quantity(point.transfers.median, '')} per ${curve.operation}`])
  if (point.transfers && point.transfers.n > 1) rows.push(['repeats', `${point.transfers.n}, ${quantity(point.transfers.low, '')} … ${quantity(point.transfers.high, '')}`])
  if (point.false_share !== null) rows.push(['false sharing', percent(point.false_share)])
  if (point.interrupts) rows.push(['by interrupts', `${quantity(point.interrupts.transfers.median, '')} per ${curve.operation}, apart`])
  if (point.instructions) rows.push(['instructions', `${quantity(point.instructions.median, '')} per ${curve.operation}`])
  if (point.rate) rows.push(['predicted', quantity(point.rate.median, `${curve.operation}/s`)])
  if (point.speedup !== null) rows.push(['speed-up', quantity(point.speedup, '')])
  for (const failure of point.failures) rows.push(['failed', failure.text ?? failure.cause])
  return { heading: `${point.cpus} ${point.cpus === 1 ? 'CPU' : 'CPUs'}`, rows }
}

/** A row for each repeat, with the figures of its number of CPUs beside it. */
export function growthSheet(curve: LensCurve): Sheet {
  const per = `per ${curve.operation}`
  const head = [
    'CPUs', 'repeat', `transfers (${per})`, ...['median', 'low', 'high'].map((end) => `${end} of transfers (${per})`), 'false sharing (share of transfers)',
    `transfers by interrupts (${per})`, `lines from memory (${per})`, `instructions (${per})`, `predicted rate (${curve.operation}/s)`, 'speed-up (ratio)', 'lines moved', 'failures',
  ]
  const rows = curve.points.flatMap((point) => {
    const beside = [
      ...endsOf(point.transfers), point.false_share, point.interrupts?.transfers.median, point.capacity_misses?.median, point.instructions?.median, point.rate?.median, point.speedup, point.lines_moved,
      point.failures.map((failure) => failure.text ?? failure.cause).join('; '),
    ]
    if (point.repeats.length === 0) return [[point.cpus, null, null, ...beside]]
    return point.repeats.map((transfers, index) => [point.cpus, index + 1, transfers, ...beside])
  })
  return { head, rows }
}
