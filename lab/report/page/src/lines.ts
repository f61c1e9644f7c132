// Draws the lines of histories: median, interval band, marks, and among others the number of each.

import * as Plot from '@observablehq/plot'
import { piecesOf, type Cells } from './joins'
import { lookOfSeries, type SeriesLook } from './looks'
import type { Spot } from './timeline'

/** With more spots than this, each is no longer drawn as a dot of its own. */
const DOTS = 300
/** The same of each of several histories. */
const DOTS_AMONG = 30
/** Marks of a history with more spots among others, so that lines can be told apart without their colour. */
const SPARSE = 12
/** Places of the numbers of histories along their lines: shares of the range, from its end. */
const [NUMBER_FIRST, NUMBER_NEXT] = [0.015, 0.05]

/** A history as it is drawn. */
export interface Course {
  look: SeriesLook
  spots: Spot[]
  levels: Spot[]
  cells: Cells
}

export function courseOf(series: number, spots: Spot[], cells: Cells): Course {
  return { look: lookOfSeries(series), spots, levels: spots.filter((spot) => spot.level !== null), cells }
}

/** The line of a history with its band and marks, and among others its number. */
export function lineMarks({ look, levels, cells }: Course, isAmongOthers: boolean): Plot.Markish[] {
  const pieces = piecesOf(cells, levels)
  const ofPieces = (dotted: boolean) => pieces.flatMap((one, piece): Linked[] => (one.dotted === dotted ? one.spots.map((spot) => ({ spot, piece })) : []))
  const [solid, dotted] = [ofPieces(false), ofPieces(true)]
  const alone = pieces.flatMap(({ spots, dotted }) => (!dotted && spots.length === 1 ? spots : []))
  const colour = look.colour
  const dots = { x: 'x', y: median, r: isAmongOthers ? 4 : 3, fill: colour, stroke: 'var(--paper)', strokeWidth: 1 }
  return [
    Plot.areaY(solid, { x: xOf, y1: lowOf, y2: highOf, z: 'piece', fill: colour, fillOpacity: isAmongOthers ? 0.12 : 0.2 }),
    Plot.ruleX(alone, { x: 'x', y1: low, y2: high, stroke: colour, strokeOpacity: 0.35, strokeWidth: 4 }),
    Plot.lineY(dotted, { x: xOf, y: medianOf, z: 'piece', stroke: colour, strokeWidth: 1.2, strokeDasharray: '1 4', strokeOpacity: 0.8 }),
    Plot.lineY(solid, { x: xOf, y: medianOf, z: 'piece', stroke: colour, strokeWidth: 1.5 }),
    Plot.dot(marked(levels, isAmongOthers), isAmongOthers ? { ...dots, symbol: look.symbol } : dots),
    ...(isAmongOthers ? [number(look, levels)] : []),
  ]
}

/** The spots that are drawn as marks: all, or of too many none; among others some of them. */
function marked(levels: Spot[], isAmongOthers: boolean): Spot[] {
  if (levels.length <= (isAmongOthers ? DOTS_AMONG : DOTS)) return levels
  const each = Math.ceil(levels.length / SPARSE)
  return isAmongOthers ? levels.filter((_, index) => index % each === 0) : []
}

/** The number of a history, near the end of its line; each at another place, so that those of lines that lie together do not hide each other. */
function number(look: SeriesLook, levels: Spot[]): Plot.Markish {
  const back = NUMBER_FIRST + (look.number - 1) * NUMBER_NEXT
  const at = levels[Math.max(0, Math.min(levels.length - 1, Math.round((levels.length - 1) * (1 - back))))]
  return Plot.text(at ? [at] : [], { x: 'x', y: median, dy: -11, text: () => String(look.number), fill: look.colour, stroke: 'var(--paper)', strokeWidth: 4, fontWeight: 700, fontSize: 13, className: 'series-number' })
}

const low = (spot: Spot) => spot.level!.low
const median = (spot: Spot) => spot.level!.median
const high = (spot: Spot) => spot.level!.high

/** A spot of a piece of the line. */
interface Linked {
  spot: Spot
  piece: number
}

const xOf = ({ spot }: Linked) => spot.x
const lowOf = ({ spot }: Linked) => low(spot)
const medianOf = ({ spot }: Linked) => median(spot)
const highOf = ({ spot }: Linked) => high(spot)
