// Draws the map of lines and CPUs: a field is what one CPU fetched of one line. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import type { Sheet } from './csv'
import type { Drawing } from './explorer'
import { percent, quantity } from './figure'
import { silent, STYLE } from './frame'
import { LEGEND_ROOM, withLegend } from './legend'
import type { LensPoint, LineFigures } from './model'
import { shortMiddle } from './shorten'
import { strengthOf, strengths } from './strength'
import type { Description } from './tooltip'

/** What one CPU fetched of one line. */
export interface Field {
  row: number
  line: LineFigures
  cpu: number
  transfers: number
}

const ROW_HEIGHT = 20
/** Numbers of CPUs that are written below the map at most, and the room for each in pixels. */
const [TICKS, TICK_ROOM] = [16, 26]

/** Every field, row by row: the line with most transfers first, CPUs from 0. */
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

/** A row for each field. */
export function mapSheet(point: LensPoint, operation: string, fields: Field[]): Sheet {
  const head = ['line', 'address', 'CPU', 'transfers (count)', `transfers (per ${operation})`]
  const rows = fields.map(({ line, cpu, transfers }) => [line.name, line.address, cpu, transfers, point.operations ? transfers / point.operations : null])
  return { head, rows }
}
