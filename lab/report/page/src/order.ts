// Draws the values of both sides in the order of their measurement. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import type { Drawing } from './explorer'
import { tickBetween } from './figure'
import { silent, STYLE } from './frame'
import type { ComparedWorkload } from './model'
import { shortEnd } from './shorten'
import { LETTERS, reachOf, SIDES, type Letter, type Place } from './values'

const HEIGHT = 300

export function drawOrder(workload: ComparedWorkload, places: Place[], width: number): Drawing<Place> | null {
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
