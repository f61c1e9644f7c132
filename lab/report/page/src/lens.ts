// Charts of a run under the lens: transfers by number of CPUs, the map of lines and CPUs, and
// callers.

import * as Plot from '@observablehq/plot'
import { endsOf } from './curve'
import { LEGEND_ROOM, silent, spaced, strengthOf, strengths, STYLE, withLegend } from './drawing'
import { type Description, type Drawing, Explorer } from './explorer'
import { percent, quantity, shortEnd, shortMiddle, tick } from './figure'
import { boxesOf, describeBox, drawFlame, flameSheet } from './flame'
import type { LensCurve, LensPoint, LensSummary, LineFigures } from './model'
import { cardsOf, titleOf } from './page'
import type { Sheet } from './saving'

export function exploreLens(lens: LensSummary): void {
  for (const { item: curve, element } of cardsOf(lens.curves)) {
    const chart = element.querySelector<HTMLElement>('.scaling .chart')
    if (chart) {
      new Explorer(chart, {
        draw: (width) => drawGrowth(curve, width),
        describe: (point) => describeGrowth(curve, point),
        sheet: () => growthSheet(curve),
        title: `${titleOf(curve)}: transfers by number of CPUs`,
      })
    }
    const map = element.querySelector<HTMLElement>('.heat .chart')
    if (map) exploreMap(curve, map)
    const flame = element.querySelector<HTMLElement>('.callers .chart')
    if (flame) exploreFlame(curve, flame)
  }
}

function exploreMap(curve: LensCurve, map: HTMLElement): void {
  const whole = curve.points.find((point) => point.cpus === Number(map.dataset.cpus))
  if (!whole) return
  const point = { ...whole, lines: whole.lines.slice(0, Number(map.closest<HTMLElement>('figure')?.dataset.lines)) }
  const fields = fieldsOf(point)
  new Explorer(map, {
    draw: (width) => drawMap(point, fields, width),
    describe: (field) => describeField(point, curve.operation, field),
    sheet: () => mapSheet(point, curve.operation, fields),
    title: `${titleOf(curve)}: lines and CPUs at ${point.cpus} CPUs`,
  })
}

function exploreFlame(curve: LensCurve, flame: HTMLElement): void {
  const point = curve.points.find((point) => point.cpus === Number(flame.dataset.cpus))
  const callers = point?.callers
  if (!point || !callers) return
  const boxes = boxesOf(callers)
  new Explorer(flame, {
    draw: (width) => drawFlame(callers, boxes, width),
    describe: (box) => describeBox(callers, point, curve.operation, box),
    sheet: () => flameSheet(callers),
    title: `${titleOf(curve)}: callers at ${point.cpus} CPUs`,
  })
}

const HEIGHT = 260

/** The drawing; `null` without values. */
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
  if (point.interrupts) rows.push(['by interrupts', `${quantity(point.interrupts.transfers.median, '')} per ${curve.operation}, counted separately`])
  if (point.instructions) rows.push(['instructions', `${quantity(point.instructions.median, '')} per ${curve.operation}`])
  if (point.rate) rows.push(['predicted', quantity(point.rate.median, `${curve.operation}/s`)])
  if (point.speedup !== null) rows.push(['speed-up', quantity(point.speedup, '')])
  for (const failure of point.failures) rows.push(['failed', failure.text ?? failure.cause])
  return { heading: `${point.cpus} ${point.cpus === 1 ? 'CPU' : 'CPUs'}`, rows }
}

/** One row per repeat, with the values of its number of CPUs. */
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

/** The transfers of one line to one CPU. */
export interface Field {
  row: number
  line: LineFigures
  cpu: number
  transfers: number
}

const ROW_HEIGHT = 20
/** Maximum labels of CPUs below the map, and space for each in pixels. */
const [TICKS, TICK_ROOM] = [16, 26]

/** Every field, row by row: lines by number of transfers, CPUs from 0. */
export function fieldsOf(point: LensPoint): Field[] {
  return point.lines.flatMap((line, row) => {
    const counts = new Map(line.by_cpu.map((part) => [part.cpu, part.transfers]))
    return Array.from({ length: point.cpus }, (_, cpu) => ({ row, line, cpu, transfers: counts.get(cpu) ?? 0 }))
  })
}

export function drawMap(point: LensPoint, fields: Field[], width: number): Drawing<Field> {
  const letters = width < 520 ? 11 : 30
  const most = Math.max(...fields.map((field) => field.transfers), 1)
  const marginLeft = letters * 7.3 + 12
  const step = Math.ceil(point.cpus / Math.min(TICKS, Math.max(1, Math.floor((width - marginLeft) / TICK_ROOM))))
  const plot = silent(Plot.plot({
    width,
    height: point.lines.length * ROW_HEIGHT + LEGEND_ROOM + 40,
    marginLeft,
    marginRight: 8,
    marginBottom: 40,
    marginTop: LEGEND_ROOM,
    style: STYLE,
    x: {
      type: 'band', domain: Array.from({ length: point.cpus }, (_, cpu) => cpu), padding: point.cpus > 24 ? 0.05 : 0.1,
      ticks: Array.from({ length: Math.ceil(point.cpus / step) }, (_, index) => index * step),
      label: 'CPU', labelAnchor: 'right', labelOffset: 34, labelArrow: 'none', tickSize: 0,
    },
    y: { type: 'band', domain: point.lines.map((_, row) => row), padding: 0.12, tickFormat: (row: number) => shortMiddle(point.lines[row].name, letters), label: null, tickSize: 0 },
    marks: [
      Plot.cell(fields, { x: 'cpu', y: 'row', fill: 'var(--sunk)' }),
      Plot.cell(fields.filter((field) => field.transfers > 0), {
        x: 'cpu', y: 'row', fill: 'var(--accent)', fillOpacity: { value: (field: Field) => strengthOf(field.transfers, most), scale: null },
      }),
    ],
  }))
  withLegend(plot, 'transfers to one CPU', strengths(most))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const middle = (scale: Plot.Scale, value: number) => scale.apply(value) + (scale.bandwidth ?? 0) / 2
  return { svg: plot, marks: fields.map((mark) => ({ mark, x: middle(x, mark.cpu), y: middle(y, mark.row) })), columns: point.cpus, nearest: 'both' }
}

export function describeField(point: LensPoint, operation: string, field: Field): Description {
  const { line } = field
  const own = line.by_cpu.reduce((sum, part) => sum + part.transfers, 0)
  const rows: [string, string][] = [
    ['line', `${line.name} (${line.address})`],
    ['to this CPU', `${field.transfers} transfers${own > 0 ? `, ${percent(field.transfers / own)} of the line's` : ''}`],
  ]
  if (point.operations) rows.push(['per ' + operation, quantity(field.transfers / point.operations, '')])
  rows.push(['the whole line', `${quantity(line.transfers, '')} per ${operation}, ${percent(line.share)} of all`])
  if (line.false_share > 0) rows.push(['false sharing', `${percent(line.false_share)} of the line's`])
  return { heading: `CPU ${field.cpu}`, rows }
}

/** One row per field. */
export function mapSheet(point: LensPoint, operation: string, fields: Field[]): Sheet {
  const head = ['line', 'address', 'CPU', 'transfers (count)', `transfers (per ${operation})`]
  const rows = fields.map(({ line, cpu, transfers }) => [line.name, line.address, cpu, transfers, point.operations ? transfers / point.operations : null])
  return { head, rows }
}
