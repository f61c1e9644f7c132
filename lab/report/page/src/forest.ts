// Changes of cost of a comparison: one row per workload on a logarithmic axis of ratios.

import * as Plot from '@observablehq/plot'
import { silent, STYLE } from './drawing'
import type { Description, Drawing } from './explorer'
import { quantity, shortMiddle } from './figure'
import type { Answer, Bounded, ComparedWorkload, Comparison, Inconclusive, RunSummary } from './model'
import type { Sheet } from './saving'

export function isCompared(data: RunSummary | Comparison): data is Comparison {
  return data.format.startsWith('faultline-comparison/')
}

/** Reasons for an inconclusive result whose ratio is still shown. */
const WITH_ESTIMATE: (Inconclusive | null)[] = [null, 'not-interleaved', 'past-margin']

function inverse({ value, low, high, level }: Bounded): Bounded {
  return { value: 1 / value, low: 1 / high, high: 1 / low, level }
}

/** The ratio of costs: above 1, the second side is worse. `null` if the ratio is not shown. */
export function costOf(workload: ComparedWorkload): Bounded | null {
  const ratio = workload.ratio
  if (!ratio || !WITH_ESTIMATE.includes(workload.inconclusive)) return null
  return workload.direction === 'lower' ? ratio : inverse(ratio)
}

/** The answer in words: `equal within ±2 %`. */
export function answerOf(workload: ComparedWorkload): string {
  return workload.answer === 'equal' ? `equal within ±${Number((workload.margin * 100).toFixed(2))} %` : workload.answer
}

/** `zero_fill:base at 4`. */
export function nameOf(workload: ComparedWorkload): string {
  return workload.tasks ? `${workload.name} at ${workload.tasks}` : workload.name
}

/** A change of cost as a percentage: `+12.3 %`; `∞` for an infinite one. */
export function change(ratio: number): string {
  const percent = (ratio - 1) * 100
  if (!Number.isFinite(percent)) return '∞'
  const size = Math.abs(percent).toFixed(Math.abs(percent) < 1 ? 2 : Math.abs(percent) < 100 ? 1 : 0)
  if (Number(size) === 0) return '0 %'
  return `${percent < 0 ? '−' : '+'}${size} %`
}

/** A workload, or the mean of all. */
export interface Row {
  index: number
  name: string
  cost: Bounded | null
  /** `null` for the mean of all. */
  workload: ComparedWorkload | null
}

const COLOURS: Record<Answer, string> = { faster: 'var(--good)', slower: 'var(--bad)', equal: 'var(--muted)', inconclusive: 'var(--partly)' }
const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
const FALLS = [...STEPS.filter((step) => step <= 0.5), 0.8, 0.9, 0.95, 0.99]
/** Minimum pixels between ticks. */
const TICK_ROOM = 58
/** Below this width, names are above their rows. */
const NARROW = 560

export function rowsOf(compared: Comparison): Row[] {
  const rows: Row[] = compared.workloads.map((workload, index) => ({
    index, name: nameOf(workload), cost: costOf(workload), workload,
  }))
  const mean = compared.improvement
  if (mean && rows.length > 1) rows.push({ index: rows.length, name: 'geometric mean', cost: inverse(mean), workload: null })
  return rows
}

/** Workloads of the rows. They share one margin of equality. */
function compared(rows: Row[]): ComparedWorkload[] {
  return rows.flatMap(({ workload }) => workload ?? [])
}

/** The domain of the axis: finite ends of intervals, the margin of equality, and 1. */
function domainOf(rows: Row[]): [number, number] {
  const margins = compared(rows).flatMap(({ margin }) => [1 / (1 + margin), 1 + margin])
  const ends = [...margins, ...rows.flatMap(({ cost: i }) => (i ? [i.low, i.value, i.high] : []))].filter((end) => Number.isFinite(end) && end > 0)
  const [low, high] = [Math.min(1, ...ends), Math.max(1, ...ends)]
  const room = Math.max(Math.log(high / low) * 0.07, 0.002)
  return [low / Math.exp(room), high * Math.exp(room)]
}

/** Round changes with enough space for their labels, outwards from none. */
function ticksOf([low, high]: [number, number], width: number): number[] {
  const place = (ratio: number) => (Math.log(ratio / low) / Math.log(high / low)) * width
  const outwards = (ratios: number[]) => {
    const kept = [1]
    for (const ratio of ratios) {
      if (ratio > low && ratio < high && Math.abs(place(ratio) - place(kept.at(-1)!)) >= TICK_ROOM) kept.push(ratio)
    }
    return kept
  }
  return [...outwards(FALLS.map((step) => 1 - step)).reverse(), ...outwards(STEPS.map((step) => 1 + step)).slice(1)]
}

export function drawForest(rows: Row[], width: number): Drawing<Row> | null {
  if (rows.length === 0) return null
  const narrow = width < NARROW
  const rowHeight = narrow ? 40 : 28
  const marginLeft = narrow ? 12 : Math.min(280, Math.max(...rows.map(({ name }) => shortMiddle(name, 36).length)) * 7.3 + 14)
  const domain = domainOf(rows)
  const edge = (end: number) => (Number.isFinite(end) && end > 0 ? end : end > 1 ? domain[1] : domain[0])
  const known = rows.filter((row) => row.cost)
  const colour = ({ workload }: Row) => (workload ? COLOURS[workload.answer] : 'var(--text)')
  const found = ({ workload }: Row) => workload?.answer === 'faster' || workload?.answer === 'slower'
  const sunk = narrow ? 8 : 0
  const margins = compared(rows).slice(0, 1)
  const plot = silent(Plot.plot({
    width,
    height: rows.length * rowHeight + 70,
    marginLeft,
    marginRight: 16,
    marginTop: 14,
    marginBottom: 46,
    style: STYLE,
    x: {
      type: 'log', domain, ticks: ticksOf(domain, width - marginLeft - 16), grid: true, label: '← B is better', labelArrow: 'none', labelOffset: 40,
      tickFormat: (ratio: number) => (ratio === 1 ? 'no change' : `${ratio < 1 ? '−' : '+'}${Number((Math.abs(ratio - 1) * 100).toPrecision(3))} %`),
    },
    y: { type: 'band', domain: rows.map(({ index }) => index), axis: null },
    marks: [
      Plot.rectX(margins, { x1: ({ margin }) => edge(1 / (1 + margin)), x2: ({ margin }) => edge(1 + margin), fill: 'var(--muted)', fillOpacity: 0.18 }),
      Plot.ruleX([1], { stroke: 'var(--text)', strokeWidth: 1.25 }),
      ...[rows.filter((row) => row.workload), rows.filter((row) => !row.workload)].map((some, index) =>
        Plot.text(some, {
          y: 'index', frameAnchor: 'left', text: ({ name }: Row) => shortMiddle(name, narrow ? 44 : 36), fill: 'var(--text)', fontWeight: index === 0 ? 400 : 600,
          textAnchor: narrow ? 'start' : 'end', dx: narrow ? 0 : -10, dy: narrow ? -9 : 0, stroke: narrow ? 'var(--ground)' : undefined, strokeWidth: 4,
        }),
      ),
      Plot.link(known, {
        x1: ({ cost }: Row) => edge(cost!.low), x2: ({ cost }: Row) => edge(cost!.high), y1: 'index', y2: 'index', dy: sunk,
        stroke: colour, strokeWidth: 2,
      }),
      Plot.dot(known, {
        x: ({ cost }: Row) => cost!.value, y: 'index', dy: sunk, r: 5, symbol: ({ workload }: Row) => (workload ? 'circle' : 'diamond'),
        fill: (row: Row) => (found(row) ? colour(row) : 'var(--ground)'), stroke: colour, strokeWidth: 2,
      }),
      Plot.text(rows.filter((row) => !row.cost), { x: () => 1, y: 'index', dy: sunk, dx: 8, textAnchor: 'start', text: () => 'inconclusive', fill: 'var(--partly)' }),
    ],
    symbol: { type: 'identity' } as Plot.ScaleOptions,
    color: { type: 'identity' },
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const at = (row: Row) => ({ mark: row, x: x.apply(row.cost?.value ?? 1), y: y.apply(row.index) + (y.bandwidth ?? 0) / 2 + sunk })
  return { svg: plot, marks: rows.map(at), columns: 1, nearest: 'y' }
}

export function describeRow({ name, cost, workload }: Row): Description {
  const rows: [string, string][] = []
  if (cost) {
    rows.push(['change', change(cost.value)])
    rows.push(['interval', `${change(cost.low)} … ${change(cost.high)}, level ${Number((cost.level * 100).toFixed(2))} %`])
  }
  if (!workload) return { heading: name, rows }
  rows.push(['answer', answerOf(workload)])
  rows.push(['A', quantity(workload.a.median, workload.unit)], ['B', quantity(workload.b.median, workload.unit)])
  rows.push(['n', `${workload.a.units} + ${workload.b.units} ${workload.independent}s`])
  return { heading: name, rows }
}

/** One row per workload, and one for the mean of all. */
export function forestSheet(rows: Row[]): Sheet {
  const head = ['workload', 'answer', 'cost B/A (ratio)', 'low (ratio)', 'high (ratio)', 'level (share)', 'unit', 'median A (unit)', 'median B (unit)', 'values A', 'values B']
  return {
    head,
    rows: rows.map(({ name, cost, workload }) => [
      name, workload?.answer, cost?.value, cost?.low, cost?.high, cost?.level,
      workload?.unit, workload?.a.median, workload?.b.median, workload?.a.units, workload?.b.units,
    ]),
  }
}
