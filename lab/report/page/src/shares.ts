// Where the time of all CPUs went, as a drawing and a table to be saved. The page itself has the bars without a script.

import * as Plot from '@observablehq/plot'
import type { Sheet } from './csv'
import { percent } from './figure'
import { silent, STYLE } from './frame'
import { LEGEND_ROOM, withLegend } from './legend'
import type { Curve, TimeShares } from './model'

const COLOURS: Record<keyof TimeShares, string> = { user: 'var(--user)', system: 'var(--system)', idle: 'var(--sunk)', steal: 'var(--steal)' }
const PARTS = Object.keys(COLOURS) as (keyof TimeShares)[]
const ROW_HEIGHT = 34
/** Least share whose part has room for its number. */
const ROOM_FOR_NUMBER = 0.08

interface Piece {
  tasks: number
  part: keyof TimeShares
  share: number
}

export function drawShares(curve: Curve, width: number): { svg: SVGSVGElement } {
  const pieces: Piece[] = curve.points.flatMap(({ tasks, shares }) => (shares ? PARTS.map((part) => ({ tasks, part, share: shares[part] })) : []))
  const rows = new Set(pieces.map(({ tasks }) => tasks)).size
  const svg = silent(Plot.plot({
    width,
    height: rows * ROW_HEIGHT + LEGEND_ROOM + 40,
    marginLeft: 52,
    marginRight: 24,
    marginBottom: 40,
    marginTop: LEGEND_ROOM,
    style: STYLE,
    x: { domain: [0, 1], ticks: 5, tickFormat: (share: number) => `${share * 100} %`, label: null },
    y: { type: 'band', padding: 0.2, label: 'tasks', labelArrow: 'none', tickSize: 0 },
    marks: [
      Plot.barX(pieces, Plot.stackX({ x: 'share', y: 'tasks', order: PARTS, z: 'part', fill: (piece: Piece) => COLOURS[piece.part], stroke: 'var(--muted)', strokeWidth: 0.5 })),
      Plot.text(pieces, Plot.stackX({
        x: 'share', y: 'tasks', order: PARTS, z: 'part', text: ({ share }: Piece) => (share >= ROOM_FOR_NUMBER ? percent(share) : ''),
        fill: ({ part }: Piece) => (part === 'idle' ? 'var(--text)' : 'var(--part-text)'),
      })),
    ],
    color: { type: 'identity' },
  }))
  withLegend(svg, 'where the time of all CPUs went', PARTS.map((part) => ({ words: part, fill: COLOURS[part] })))
  return { svg }
}

/** A row for each number of tasks. */
export function sharesSheet(curve: Curve): Sheet {
  const head = ['tasks', ...PARTS.map((part) => `${part} (share of all CPUs’ time)`)]
  return { head, rows: curve.points.flatMap(({ tasks, shares }) => (shares ? [[tasks, ...PARTS.map((part) => shares[part])]] : [])) }
}
