// Draws how much better the second side is: a row for each workload, on an axis of ratios. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import type { Sheet } from './csv'
import type { Drawing } from './explorer'
import { quantity } from './figure'
import { silent, STYLE } from './frame'
import { answerOf, change, improvementOf, nameOf } from './improvement'
import type { Answer, Bounded, ComparedWorkload, Comparison } from './model'
import { shortMiddle } from './shorten'
import type { Description } from './tooltip'

/** A workload, or the mean of all. */
export interface Row {
  index: number
  name: string
  improvement: Bounded | null
  /** None for the mean of all. */
  workload: ComparedWorkload | null
}

const COLOURS: Record<Answer, string> = { faster: 'var(--good)', slower: 'var(--bad)', equal: 'var(--muted)', inconclusive: 'var(--partly)' }
const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
const FALLS = [...STEPS.filter((step) => step <= 0.5), 0.8, 0.9, 0.95, 0.99]
/** Pixels between ticks at least. */
const TICK_ROOM = 58
/** Narrower than this, names stand above their rows. */
const NARROW = 560

export function rowsOf(compared: Comparison): Row[] {
  const rows: Row[] = compared.workloads.map((workload, index) => ({
    index, name: nameOf(workload), improvement: improvementOf(workload), workload,
  }))
  const mean = compared.improvement
  if (mean && rows.length > 1) rows.push({ index: rows.length, name: 'geometric mean', improvement: mean, workload: null })
  return rows
}

/** The workloads among the rows: they share one margin of equality. */
function compared(rows: Row[]): ComparedWorkload[] {
  return rows.flatMap(({ workload }) => workload ?? [])
}

/** What the axis spans: every end that is a number, the margin of equality, and 1. */
function domainOf(rows: Row[]): [number, number] {
  const margins = compared(rows).flatMap(({ margin }) => [1 / (1 + margin), 1 + margin])
  const ends = [...margins, ...rows.flatMap(({ improvement: i }) => (i ? [i.low, i.value, i.high] : []))].filter((end) => Number.isFinite(end) && end > 0)
  const [low, high] = [Math.min(1, ...ends), Math.max(1, ...ends)]
  const room = Math.max(Math.log(high / low) * 0.07, 0.002)
  return [low / Math.exp(room), high * Math.exp(room)]
}

/** Round changes, from none outwards, that can be written without touching each other. */
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
  const known = rows.filter((row) => row.improvement)
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
      type: 'log', domain, ticks: ticksOf(domain, width - marginLeft - 16), grid: true, label: 'B is better →', labelArrow: 'none', labelOffset: 40,
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
        x1: ({ improvement }: Row) => edge(improvement!.low), x2: ({ improvement }: Row) => edge(improvement!.high), y1: 'index', y2: 'index', dy: sunk,
        stroke: colour, strokeWidth: 2,
      }),
      Plot.dot(known, {
        x: ({ improvement }: Row) => improvement!.value, y: 'index', dy: sunk, r: 5, symbol: ({ workload }: Row) => (workload ? 'circle' : 'diamond'),
        fill: (row: Row) => (found(row) ? colour(row) : 'var(--ground)'), stroke: colour, strokeWidth: 2,
      }),
      Plot.text(rows.filter((row) => !row.improvement), { x: () => 1, y: 'index', dy: sunk, dx: 8, textAnchor: 'start', text: () => 'inconclusive', fill: 'var(--partly)' }),
    ],
    symbol: { type: 'identity' } as Plot.ScaleOptions,
    color: { type: 'identity' },
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const at = (row: Row) => ({ mark: row, x: x.apply(row.improvement?.value ?? 1), y: y.apply(row.index) + (y.bandwidth ?? 0) / 2 + sunk })
  return { svg: plot, marks: rows.map(at), columns: 1, nearest: 'y' }
}

export function describeRow({ name, improvement, workload }: Row): Description {
  const rows: [string, string][] = []
  if (improvement) {
    rows.push(['change', change(improvement.value)])
    rows.push(['interval', `${change(improvement.low)} … ${change(improvement.high)}, level ${Number((improvement.level * 100).toFixed(2))} %`])
  }
  if (!workload) return { heading: name, rows }
  rows.push(['answer', answerOf(workload)])
  rows.push(['A', quantity(workload.a.median, workload.unit)], ['B', quantity(workload.b.median, workload.unit)])
  rows.push(['n', `${workload.a.units} + ${workload.b.units} ${workload.independent}s`])
  return { heading: name, rows }
}

/** A row for each workload, and one for the mean of all. */
export function forestSheet(rows: Row[]): Sheet {
  const head = ['workload', 'answer', 'improvement (ratio)', 'low (ratio)', 'high (ratio)', 'level (share)', 'unit', 'median A (unit)', 'median B (unit)', 'values A', 'values B']
  return {
    head,
    rows: rows.map(({ name, improvement, workload }) => [
      name, workload?.answer, improvement?.value, improvement?.low, improvement?.high, improvement?.level,
      workload?.unit, workload?.a.median, workload?.b.median, workload?.a.units, workload?.b.units,
    ]),
  }
}
