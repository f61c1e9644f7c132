// Draws the course of a history: median line, interval band, single executions, steps, commits that cannot be measured. Knows nothing of pointer and keyboard.

import * as Plot from '@observablehq/plot'
import type { Drawing } from './explorer'
import { tickBetween } from './figure'
import { silent, STYLE } from './frame'
import type { StepMark, Timeline } from './model'
import { logTicks } from './ticks'
import { placeOf, spotsOf, type Across, type Spot } from './timeline'

export interface Asked {
  from: number
  to: number
  across: Across
  log: boolean
}

const HEIGHT = 340
const MARGINS = { marginLeft: 74, marginRight: 20, marginTop: 34, marginBottom: 40 }
/** With more spots than this, each is no longer drawn as a dot of its own. */
const DOTS = 300
/** Pixels that the words above a step need. */
const STEP_WORDS = 150

/** The drawing, or nothing when there is no figure to draw. */
export function drawCourse(timeline: Timeline, asked: Asked, width: number): Drawing<Spot> | null {
  const spots = spotsOf(timeline, asked.from, asked.to, asked.across)
  const levels = spots.filter((spot) => spot.level !== null)
  if (levels.length === 0) return null
  const executions = spots.flatMap((spot) => (spot.commit?.values ?? []).map((value) => ({ x: spot.x, value })))
  const values = [...levels.flatMap(({ level }) => [level!.low, level!.high]), ...executions.map(({ value }) => value)].filter((value) => !asked.log || value > 0)
  const plot = silent(Plot.plot({
    width,
    height: HEIGHT,
    ...MARGINS,
    style: STYLE,
    x: xAxis(spots, asked, width),
    y: yAxis(values, timeline, asked.log),
    marks: [
      ...stepMarks(timeline, spots, asked, width),
      Plot.areaY(levels, { x: 'x', y1: low, y2: high, fill: 'var(--accent)', fillOpacity: 0.2 }),
      tinyDots(executions),
      Plot.lineY(levels, { x: 'x', y: median, stroke: 'var(--accent)', strokeWidth: 1.5 }),
      Plot.dot(levels.length <= DOTS ? levels : [], { x: 'x', y: median, r: 3, fill: 'var(--accent)', stroke: 'var(--paper)', strokeWidth: 1 }),
      Plot.text(spots.filter((spot) => spot.level === null), { x: 'x', frameAnchor: 'bottom', text: () => '✕', fill: 'var(--bad)', dy: -4 }),
    ],
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const bottom = HEIGHT - MARGINS.marginBottom - 8
  return { svg: plot, marks: spots.map((spot) => ({ mark: spot, x: x.apply(spot.x), y: spot.level ? y.apply(spot.level.median) : bottom })) }
}

const low = (spot: Spot) => spot.level!.low
const median = (spot: Spot) => spot.level!.median
const high = (spot: Spot) => spot.level!.high

function xAxis(spots: Spot[], { from, to, across }: Asked, width: number): Plot.ScaleOptions {
  const ticks = Math.max(2, Math.floor((width - MARGINS.marginLeft) / 110))
  const common = { labelAnchor: 'right', labelArrow: 'none', labelOffset: MARGINS.marginBottom - 6, ticks, grid: true } as const
  if (across === 'order') return { ...common, type: 'linear', label: 'commits, the oldest is 0', domain: [from - 0.5, to + 0.5], tickFormat: 'd' }
  const [first, last] = [spots[0].x, spots.at(-1)!.x]
  return { ...common, type: 'utc', label: 'committed (UTC)', domain: [new Date(first), new Date(Math.max(last, first + 1000))] }
}

function yAxis(values: number[], timeline: Timeline, log: boolean): Plot.ScaleOptions {
  const [least, most] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)]
  const room = (most - least || Math.abs(most) || 1) * 0.08
  const domain = log ? [least / 1.1, most * 1.1] : [least - room, most + room]
  const common = { label: `${timeline.unit}, lower is better`, labelArrow: 'none', tickFormat: tickBetween(domain[0], domain[1], timeline.unit), grid: true, nice: false } as const
  return log ? { ...common, type: 'log', domain, ticks: logTicks(domain[0], domain[1], 6) } : { ...common, type: 'linear', domain, ticks: 6 }
}

/** All single executions as one element: there may be thousands. */
function tinyDots(executions: { x: number; value: number }[]): Plot.Markish {
  return (_index, scales) => {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    const place = (x: number, value: number) => `M${(scales.x!(x) as number).toFixed(1)} ${(scales.y!(value) as number).toFixed(1)}h0`
    path.setAttribute('d', executions.map(({ x, value }) => place(x, value)).join(''))
    for (const [name, value] of Object.entries({ class: 'executions', stroke: 'var(--accent)', 'stroke-opacity': 0.35, 'stroke-width': 4, 'stroke-linecap': 'round', fill: 'none' })) {
      path.setAttribute(name, String(value))
    }
    return path
  }
}

interface Placed {
  step: StepMark
  x: number
  x1: number
  x2: number
  y: number
}

/** The first commit of each new level as a line, and the range in which it lies as a stripe. */
function stepMarks(timeline: Timeline, spots: Spot[], { from, to, across }: Asked, width: number): Plot.Markish[] {
  const inside = timeline.steps.filter((step) => step.by >= from && step.by <= to)
  const perPixel = (to - from + 1) / Math.max(1, width - MARGINS.marginLeft - MARGINS.marginRight)
  let last = -Infinity
  let line = 0
  const placed = inside.flatMap((step): Placed[] => {
    const place = (position: number) => placeOf(Math.min(to, Math.max(from, position)), spots, across)
    const x = place(step.by)
    if (x === null) return []
    line = (step.by - last) / perPixel < STEP_WORDS ? (line + 1) % 2 : 0
    last = step.by
    return [{ step, x, x1: place(step.earliest) ?? x, x2: place(step.latest) ?? x, y: -8 - line * 13 }]
  })
  const colour = ({ step }: Placed) => (step.is_better ? 'var(--good)' : 'var(--bad)')
  return [
    Plot.rectX(placed, { x1: 'x1', x2: 'x2', fill: colour, fillOpacity: 0.12 }),
    Plot.ruleX(placed, { x: 'x', stroke: colour, strokeDasharray: '4 3', strokeWidth: 1.5 }),
    ...placed.map((one) =>
      Plot.text([one], { x: 'x', frameAnchor: 'top', dy: one.y, text: () => `${one.step.change}, ${one.step.what}`, fill: colour(one), fontWeight: 600 }),
    ),
  ]
}
