// Drawing of a history and further ones: lines, intervals, executions, steps, quirks and
// unmeasurable commits.

import * as Plot from '@observablehq/plot'
import { spotsBeside } from './beside'
import { type Anchor, type Look, lookOf, lookOfSeries, placed, type Placed, type SeriesLook, shape, silent, STYLE, wordsOf } from './drawing'
import type { Arrow, Drawing } from './explorer'
import { logTicks, tickBetween, wholeTicks } from './figure'
import type { BesideSeries, StepMark, Timeline } from './model'
import { type Across, type Cells, cellsBeside, cellsOf, neighbour, piecesOf, placeOf, relativeTo, type Spot, spotsOf } from './timeline'

export interface Asked {
  from: number
  to: number
  across: Across
  log: boolean
  /** Values relative to the first one of their history. */
  relative: boolean
}

const HEIGHT = 340
const MARGINS = { marginLeft: 74, marginRight: 20, marginTop: 34, marginBottom: 40 }
/** Lines of labels above the plot. */
const STEP_LINES = 2
/** Share of the range at each end in which a step's label is on the inner side. */
const EDGE = 0.25
/** Horizontal offset of executions of other boots, in pixels. */
const ASIDE = 5
/** Pixels between executions in layouts of adjacent seeds, and number of columns of them. */
const [LAYOUT_ASIDE, LAYOUT_COLUMNS] = [4, 3]
/** Pixels between the bars of two quirks. */
const QUIRK_LINE = 18

/** The drawing; `null` without values. `others`: further histories. */
export function drawCourse(timeline: Timeline, others: BesideSeries[], asked: Asked, width: number): Drawing<Spot> | null {
  const base = asked.relative ? timeline.base : 1
  const own = spotsOf(timeline, asked.from, asked.to, asked.across).map((spot) => ({ ...spot, level: relativeTo(spot.level, base) }))
  const beside = others.map((one, index) => courseOf(index + 1, spotsBeside(one, index + 1, asked.from, asked.to, asked.across, asked.relative), cellsBeside(one)))
  const courses = [courseOf(0, own, cellsOf(timeline)), ...beside]
  const spots = courses.flatMap((course) => course.spots).sort((a, b) => a.x - b.x || a.series - b.series)
  const levels = courses.flatMap((course) => course.levels)
  if (levels.length === 0) return null
  const executions = base ? own.flatMap((spot) => executionsOf(spot, base)) : []
  const inLayouts = base ? own.flatMap((spot) => inLayoutsOf(spot, base)) : []
  const range = reachOfValues(levels, [...executions, ...inLayouts].map(({ value }) => value), asked.log)
  const axis = yAxis(range, timeline, asked)
  const [lowest, highest] = axis.domain as [number, number]
  const isWithin = ({ value }: { value: number }) => value >= lowest && value <= highest
  const plot = silent(Plot.plot({
    width,
    height: HEIGHT,
    ...MARGINS,
    style: STYLE,
    x: xAxis(spots, asked, width),
    y: axis,
    marks: [
      ...(own.length > 0 ? stepMarks(timeline, own, asked, reachOf(spots, asked), width) : []),
      ...(own.length > 0 ? [quirkBars(timeline, own, asked)] : []),
      tinyDots(executions.filter((one) => isWithin(one) && !one.isOfOther), 'round'),
      tinyDots(executions.filter((one) => isWithin(one) && one.isOfOther), 'square'),
      ...(inLayouts.length > 0 ? [tinyPluses(inLayouts.filter(isWithin))] : []),
      ...courses.toReversed().flatMap((course) => lineMarks(course, courses.length > 1)),
      beyond('▲', 'top', [...levels.filter(({ level }) => level!.high > highest), ...executions.filter(({ value }) => value > highest)]),
      beyond('▼', 'bottom', [...levels.filter(({ level }) => level!.low < lowest), ...executions.filter(({ value }) => value < lowest)]),
      Plot.text(spots.filter(isUnusable), { x: 'x', frameAnchor: 'bottom', text: () => '✕', fill: 'var(--bad)', dy: -4 }),
    ],
  }))
  const [x, y] = [plot.scale('x')!, plot.scale('y')!]
  const bottom = HEIGHT - MARGINS.marginBottom - 8
  const marks = spots.map((spot) => ({ mark: spot, x: x.apply(spot.x), y: spot.level ? y.apply(spot.level.median) : bottom }))
  const frame = { left: MARGINS.marginLeft, right: width - MARGINS.marginRight, top: MARGINS.marginTop, bottom: HEIGHT - MARGINS.marginBottom }
  return { svg: plot, marks, frame, ...(others.length > 0 ? { nearest: 'both' as const, neighbour: (index: number, arrow: Arrow) => neighbour(spots, index, arrow) } : {}) }
}

/** True if it includes commits that cannot be measured. */
const isUnusable = (spot: Spot) => spot.level === null || (spot.bucket?.unusable ?? 0) > 0

/** The ends of the axis: positions, or milliseconds since 1970. */
function reachOf(spots: Spot[], { from, to, across }: Asked): [number, number] {
  if (across === 'order') return [from - 0.5, to + 0.5]
  const [first, last] = [spots[0].x, spots.at(-1)!.x]
  return [first, Math.max(last, first + 1000)]
}

function xAxis(spots: Spot[], asked: Asked, width: number): Plot.ScaleOptions {
  const ticks = Math.max(2, Math.floor((width - MARGINS.marginLeft) / 110))
  const common = { labelAnchor: 'right', labelArrow: 'none', labelOffset: MARGINS.marginBottom - 6, grid: true } as const
  const domain = reachOf(spots, asked)
  if (asked.across === 'order') return { ...common, type: 'linear', label: 'commits, the oldest is 0', domain, ticks: wholeTicks(asked.from, asked.to, ticks), tickFormat: 'd' }
  return { ...common, type: 'utc', label: 'committed (UTC)', ticks, domain: domain.map((end) => new Date(end)) }
}

/** Intervals and executions widen the plot by at most this part of the levels' range. */
const BEYOND_RANGE = 0.5
/** Or by this multiple of the median width of an interval. */
const BEYOND_WIDTH = 2

/**
 * The range of the plot: all levels, and the intervals and executions near them. A few wide
 * intervals would flatten the line; they are clipped and marked.
 */
export function reachOfValues(levels: Spot[], executions: number[], log: boolean): [number, number] {
  const [to, back] = log ? [Math.log, Math.exp] : [(value: number) => value, (value: number) => value]
  const isShown = (value: number) => !log || value > 0
  const ends = (values: number[]) => [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)] as const
  // The ends of a bucket are commits.
  const certain = levels.flatMap(({ level, bucket }) => (bucket ? [level!.low, level!.high] : [level!.median])).filter(isShown).map(to)
  const intervals = levels.filter(({ bucket }) => !bucket).map(({ level }) => [level!.low, level!.high].filter(isShown).map(to))
  const [least, most] = ends(certain)
  const widths = intervals.map((ends) => (ends.length === 2 ? ends[1] - ends[0] : 0)).sort((a, b) => a - b)
  const room = Math.max((most - least) * BEYOND_RANGE, (widths[widths.length >> 1] ?? 0) * BEYOND_WIDTH)
  const near = [...intervals.flat(), ...executions.filter(isShown).map(to)].filter((value) => value >= least - room && value <= most + room)
  const [low, high] = ends([...certain, ...near])
  return [back(low), back(high)]
}

/** Marks at the border for intervals and executions beyond it. */
function beyond(sign: string, edge: 'top' | 'bottom', beyond: { x: number }[]): Plot.Markish {
  return Plot.text(beyond, { x: 'x', frameAnchor: edge, dy: edge === 'top' ? 5 : -5, text: () => sign, fill: 'var(--muted)', fontSize: 9, className: 'beyond' })
}

function yAxis([least, most]: [number, number], timeline: Timeline, { log, relative }: Asked): Plot.ScaleOptions {
  const room = (most - least || Math.abs(most) || 1) * 0.08
  // Space below the values for the bars of quirks.
  const below = 1 + timeline.quirks.length
  const domain = log ? [least / 1.1 ** below, most * 1.1] : [least - room * below, most + room]
  const unit = relative ? '' : timeline.unit
  const label = relative ? 'relative to the first measured commit, lower is better' : `${unit}, lower is better`
  const common = { label, labelArrow: 'none', tickFormat: tickBetween(domain[0], domain[1], unit), grid: true, nice: false } as const
  return log ? { ...common, type: 'log', domain, ticks: logTicks(domain[0], domain[1], 6) } : { ...common, type: 'linear', domain, ticks: 6 }
}

interface Execution {
  x: number
  value: number
  /**
   * True for the second boot of its commit, the fourth, and so on. Form and place distinguish
   * adjacent boots.
   */
  isOfOther: boolean
}

function executionsOf(spot: Spot, base: number): Execution[] {
  const { values, boots } = spot.commit ?? { values: [], boots: [] }
  return values.map((value, index) => ({ x: spot.x, value: value / base, isOfOther: (boots[index] ?? 0) % 2 === 1 }))
}

/**
 * All single executions as one element, because there may be thousands. Those of other boots are
 * darker squares, to the right of the line.
 */
function tinyDots(executions: Execution[], form: 'round' | 'square'): Plot.Markish {
  return (_index, scales) => {
    const aside = form === 'square' ? ASIDE : 0
    const place = (x: number, value: number) => `M${((scales.x!(x) as number) + aside).toFixed(1)} ${(scales.y!(value) as number).toFixed(1)}h0`
    const d = executions.map(({ x, value }) => place(x, value)).join('')
    return shape('path', { d, class: form === 'round' ? 'executions' : 'executions other-boots', stroke: 'var(--accent)', 'stroke-opacity': form === 'round' ? 0.35 : 0.6, 'stroke-width': 4, 'stroke-linecap': form, fill: 'none' })
  }
}

interface InLayout {
  x: number
  value: number
  /** The seed of the layout. Adjacent seeds are side by side. */
  layout: number
}

function inLayoutsOf(spot: Spot, base: number): InLayout[] {
  const { layout_values, layouts } = spot.commit ?? { layout_values: [], layouts: [] }
  return layout_values.map((value, index) => ({ x: spot.x, value: value / base, layout: layouts[index] }))
}

/** Executions in random layouts as one element: plus signs to the left of the line. */
function tinyPluses(executions: InLayout[]): Plot.Markish {
  return (_index, scales) => {
    const place = ({ x, value, layout }: InLayout) => {
      const left = (scales.x!(x) as number) - ASIDE - LAYOUT_ASIDE * (layout % LAYOUT_COLUMNS)
      return `M${(left - 2).toFixed(1)} ${(scales.y!(value) as number).toFixed(1)}h4m-2 -2v4`
    }
    return shape('path', { d: executions.map(place).join(''), class: 'in-layouts', stroke: 'var(--accent)', 'stroke-opacity': 0.6, 'stroke-width': 1, fill: 'none' })
  }
}

interface Step {
  step: StepMark
  look: Look
  x: number
  x1: number
  x2: number
  /** True if its first commit is visible; otherwise only part of its interval is. */
  isWithin: boolean
  /** The side of its label, so that labels stay within the plot. */
  anchor: Anchor
}

/** The first commit of each new level as a line, and the step's interval as a stripe. */
function stepMarks(timeline: Timeline, spots: Spot[], { from, to, across }: Asked, [left, right]: [number, number], width: number): Plot.Markish[] {
  const inSight = timeline.steps.filter((step) => step.latest >= from && step.earliest < to)
  const perPixel = (right - left) / Math.max(1, width - MARGINS.marginLeft - MARGINS.marginRight)
  const bound = (position: number) => Math.min(to, Math.max(from, position))
  const steps = inSight.map((step): Step => {
    const place = (position: number) => placeOf(bound(position), spots, across)
    const by = bound(step.by)
    const x = place(by)
    const share = (x - left) / (right - left)
    const anchor = share < EDGE ? 'start' : share > 1 - EDGE ? 'end' : 'middle'
    return { step, look: lookOf(step), x, x1: place(step.earliest), x2: place(step.latest), isWithin: by === step.by, anchor }
  })
  const words = placed(steps.map((one) => ({ x: (one.x - left) / perPixel, anchor: one.anchor, texts: textsOf(one) })), STEP_LINES)
  const colour = ({ look }: Step) => look.colour
  const rule = (one: Step) => Plot.ruleX([one], { x: 'x', stroke: colour, strokeDasharray: one.look.dashes || undefined, strokeWidth: 1.5 })
  const text = (one: Step, { line, text }: Placed) => Plot.text([one], { x: 'x', frameAnchor: 'top', dy: -8 - line * 13, text: () => text, textAnchor: one.anchor, fill: colour, fontWeight: 600 })
  return [
    Plot.rectX(steps, { x1: 'x1', x2: 'x2', fill: colour, fillOpacity: 0.12 }),
    ...steps.filter(({ isWithin }) => isWithin).map(rule),
    ...steps.flatMap((one, index) => (words[index] ? [text(one, words[index])] : [])),
  ]
}

/** The label of a step, and a shorter one. */
function textsOf({ step, isWithin }: Step): string[] {
  const outside = isWithin ? '' : ' (outside)'
  return [`${wordsOf(step)}${outside}`, `${step.change}${outside}`]
}

/**
 * The commits in the environment of each quirk: bars at the bottom, labelled at their beginnings.
 */
function quirkBars(timeline: Timeline, spots: Spot[], { from, to, across }: Asked): Plot.Markish {
  return (_index, scales) => {
    const group = shape('g', { class: 'quirk-bars' })
    const x = (position: number) => scales.x!(placeOf(Math.min(to, Math.max(from, position)), spots, across)) as number
    timeline.quirks.forEach((quirk, number) => {
      const y = HEIGHT - MARGINS.marginBottom - QUIRK_LINE * (number + 1)
      for (const [first, last] of quirk.ranges.filter(([first, last]) => last >= from && first <= to)) {
        group.append(shape('line', { x1: x(first), x2: x(last), y1: y, y2: y, stroke: 'var(--muted)', 'stroke-width': 3, 'stroke-linecap': 'round' }))
        const letter = shape('text', { x: x(first), y: y - 4, fill: 'var(--text)', stroke: 'none', 'font-weight': 600, 'text-anchor': 'middle' })
        letter.textContent = quirk.letter
        group.append(letter)
      }
    })
    return group
  }
}

/** Maximum number of spots with a mark each. */
const DOTS = 300
/** This limit for each of several histories. */
const DOTS_AMONG = 30
/** Marks of a longer history among others, so that lines can be distinguished without colour. */
const SPARSE = 12
/** Positions of the histories' numbers along their lines: shares of the range, from its end. */
const [NUMBER_FIRST, NUMBER_NEXT] = [0.015, 0.05]

/** A history to draw. */
export interface Course {
  look: SeriesLook
  spots: Spot[]
  levels: Spot[]
  cells: Cells
}

export function courseOf(series: number, spots: Spot[], cells: Cells): Course {
  return { look: lookOfSeries(series), spots, levels: spots.filter((spot) => spot.level !== null), cells }
}

/** The line of a history with band and marks, and its number among others. */
export function lineMarks({ look, levels, cells }: Course, isAmongOthers: boolean): Plot.Markish[] {
  const pieces = piecesOf(cells, levels)
  const ofPieces = (dotted: boolean) => pieces.flatMap((one, piece): PieceSpot[] => (one.dotted === dotted ? one.spots.map((spot) => ({ spot, piece })) : []))
  const [solid, dotted] = [ofPieces(false), ofPieces(true)]
  const alone = pieces.flatMap(({ spots, dotted }) => (!dotted && spots.length === 1 ? spots : []))
  const colour = look.colour
  const dots = { x: 'x', y: median, r: isAmongOthers ? 4 : 3, fill: colour, stroke: 'var(--paper)', strokeWidth: 1 }
  return [
    Plot.areaY(solid, { x: xOf, y1: lowOf, y2: highOf, z: 'piece', fill: colour, fillOpacity: isAmongOthers ? 0.12 : 0.2, clip: true }),
    Plot.ruleX(alone, { x: 'x', y1: low, y2: high, stroke: colour, strokeOpacity: 0.35, strokeWidth: 4, clip: true }),
    Plot.lineY(dotted, { x: xOf, y: medianOf, z: 'piece', stroke: colour, strokeWidth: 1.2, strokeDasharray: '1 4', strokeOpacity: 0.8 }),
    Plot.lineY(solid, { x: xOf, y: medianOf, z: 'piece', stroke: colour, strokeWidth: 1.5 }),
    Plot.dot(marked(levels, isAmongOthers), isAmongOthers ? { ...dots, symbol: look.symbol } : dots),
    ...(isAmongOthers ? [number(look, levels)] : []),
  ]
}

/** Spots with marks: all, or none if there are too many; among others some of them. */
function marked(levels: Spot[], isAmongOthers: boolean): Spot[] {
  if (levels.length <= (isAmongOthers ? DOTS_AMONG : DOTS)) return levels
  const each = Math.ceil(levels.length / SPARSE)
  return isAmongOthers ? levels.filter((_, index) => index % each === 0) : []
}

/** The number of a history near the end of its line, at a different place for each. */
function number(look: SeriesLook, levels: Spot[]): Plot.Markish {
  const back = NUMBER_FIRST + (look.number - 1) * NUMBER_NEXT
  const at = levels[Math.max(0, Math.min(levels.length - 1, Math.round((levels.length - 1) * (1 - back))))]
  return Plot.text(at ? [at] : [], { x: 'x', y: median, dy: -11, text: () => String(look.number), fill: look.colour, stroke: 'var(--paper)', strokeWidth: 4, fontWeight: 700, fontSize: 13, className: 'series-number' })
}

const low = (spot: Spot) => spot.level!.low
const median = (spot: Spot) => spot.level!.median
const high = (spot: Spot) => spot.level!.high

/** A spot of a piece of the line. */
interface PieceSpot {
  spot: Spot
  piece: number
}

const xOf = ({ spot }: PieceSpot) => spot.x
const lowOf = ({ spot }: PieceSpot) => low(spot)
const medianOf = ({ spot }: PieceSpot) => median(spot)
const highOf = ({ spot }: PieceSpot) => high(spot)
