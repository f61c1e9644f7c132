// Draws the values of both sides as strips, and above them the share of values up to each place. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import type { Drawing } from './explorer'
import { percent, quantity, tickBetween } from './figure'
import { silent, STYLE } from './frame'
import type { ComparedWorkload } from './model'
import { shortEnd } from './shorten'
import type { Description } from './tooltip'
import { LETTERS, reachOf, SIDES, type Letter, type Place } from './values'

const HEIGHT = 300
/** Where the strips lie below the shares. */
const STRIPS: Record<Letter, number> = { A: -0.2, B: -0.42 }

/** The share of a side's values up to each place, in steps from end to end of the axis. */
function steps(places: Place[], side: Letter, [low, high]: [number, number]): { value: number; share: number }[] {
  const values = places.filter((place) => place.side === side).map(({ value }) => value).sort((a, b) => a - b)
  if (values.length === 0) return []
  return [{ value: low, share: 0 }, ...values.map((value, index) => ({ value, share: (index + 1) / values.length })), { value: high, share: 1 }]
}

export function drawDistribution(workload: ComparedWorkload, places: Place[], width: number): Drawing<Place> | null {
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

/** What is told of a value, in this chart and in that of the order. */
export function describeValue(name: string, workload: ComparedWorkload, place: Place): Description {
  const median = SIDES[place.side].figures(workload).median
  return {
    heading: `${place.side}, ${workload.independent} ${place.order}`,
    rows: [['workload', name], ['value', quantity(place.value, workload.unit)], ['against its median', percent(place.value / median - 1)]],
  }
}
