// Flame graph of callers: a function is as wide as its share of the transfers, and lies on its
// caller.

import { shape, silent, STYLE } from './drawing'
import type { Arrow, Description, Drawing } from './explorer'
import { oneLine, percent, quantity, shortEnd } from './figure'
import type { CallersFigures, LensPoint } from './model'
import type { Sheet } from './saving'

/** A function with its callees. */
export interface Box {
  name: string
  isInlined: boolean
  /** It represents unknown callers. */
  isUnknown: boolean
  depth: number
  /** Samples to the left of it, and its own with those of its callees. */
  from: number
  samples: number
  /** Samples whose transfer it caused itself. */
  own: number
  caller: Box | null
  called: Box[]
}

const [ROW_HEIGHT, SIDE, LETTER] = [19, 8, 6.6]
/** Minimum characters of a name. */
const FEWEST_LETTERS = 3
/** Minimum share of a drawn function. */
export const LEAST_SHARE = 0.002
const UNKNOWN = '[unknown]'

/** Boxes, one per function and chain of callers. The first box represents all samples. */
export function boxesOf(callers: CallersFigures): Box[] {
  const root = box('all', null)
  for (const chain of callers.chains) {
    let at = root
    at.samples += chain.samples
    const frames = chain.frames.map((frame) => callers.frames[frame]).reverse()
    const way = chain.is_whole ? frames : [{ name: null, is_inlined: false }, ...frames]
    for (const { name, is_inlined } of way) {
      at = calledOf(at, name ?? UNKNOWN, is_inlined, name === null)
      at.samples += chain.samples
    }
    at.own += chain.samples
  }
  return laidOut(root, 0).filter((box) => box.samples >= LEAST_SHARE * callers.samples)
}

function box(name: string, caller: Box | null): Box {
  return { name, isInlined: false, isUnknown: false, depth: caller ? caller.depth + 1 : 0, from: 0, samples: 0, own: 0, caller, called: [] }
}

function calledOf(caller: Box, name: string, isInlined: boolean, isUnknown: boolean): Box {
  const known = caller.called.find((box) => box.name === name && box.isInlined === isInlined)
  if (known) return known
  const called = { ...box(name, caller), isInlined, isUnknown }
  caller.called.push(called)
  return called
}

function laidOut(box: Box, from: number): Box[] {
  box.from = from
  box.called.sort((a, b) => b.samples - a.samples || (a.name < b.name ? -1 : 1))
  let next = from
  const called = box.called.flatMap((inner) => {
    const boxes = laidOut(inner, next)
    next += inner.samples
    return boxes
  })
  return [box, ...called]
}

export function drawFlame(callers: CallersFigures, boxes: Box[], width: number): Drawing<Box> {
  const rows = Math.max(...boxes.map((box) => box.depth)) + 1
  const height = rows * ROW_HEIGHT + 8
  const scale = (width - 2 * SIDE) / callers.samples
  const left = (box: Box) => SIDE + box.from * scale
  const top = (box: Box) => 4 + (rows - 1 - box.depth) * ROW_HEIGHT
  const svg = shape('svg', { width, height, viewBox: `0 0 ${width} ${height}`, fill: 'currentColor' })
  Object.assign(svg.style, { ...STYLE, fontSize: '11px' })
  for (const box of boxes) svg.append(drawBox(box, left(box), top(box), box.samples * scale))
  const marks = boxes.map((mark) => ({ mark, x: left(mark) + (mark.samples * scale) / 2, y: top(mark) + ROW_HEIGHT / 2 }))
  return {
    svg: silent(svg),
    marks,
    neighbour: (index, arrow) => boxes.indexOf(neighbourOf(boxes[index], arrow, boxes)),
    at: (x, y) => boxes.findIndex((box) => x >= left(box) && x < left(box) + box.samples * scale && y >= top(box) && y < top(box) + ROW_HEIGHT),
  }
}

/** Up: the greatest callee. Down: the caller. Left and right: the next box of the row. */
function neighbourOf(box: Box, arrow: Arrow, boxes: Box[]): Box {
  const row = boxes.filter((other) => other.depth === box.depth)
  const place = row.indexOf(box)
  switch (arrow) {
    case 'ArrowUp': return box.called.find((called) => boxes.includes(called)) ?? box
    case 'ArrowDown': return box.caller ?? box
    case 'ArrowLeft': return row[place - 1] ?? box
    case 'ArrowRight': return row[place + 1] ?? box
  }
}

/**
 * Unknown callers have a dashed outline, inlined functions are in italics: colour has no meaning.
 */
function drawBox(box: Box, x: number, y: number, width: number): SVGElement {
  const group = shape('g', { class: box.isUnknown ? 'box unknown' : 'box' })
  const looks: Record<string, string | number> = box.isUnknown ? { fill: 'var(--sunk)', stroke: 'var(--muted)', 'stroke-dasharray': '3 2' } : { fill: 'var(--accent)', 'fill-opacity': shade(box.name), stroke: 'var(--paper)' }
  group.append(shape('rect', { x, y, width: Math.max(width, 0.5), height: ROW_HEIGHT - 1, ...looks }))
  const letters = Math.floor((width - 6) / LETTER)
  if (letters >= FEWEST_LETTERS) {
    const text = shape('text', { x: x + 3, y: y + ROW_HEIGHT - 6, fill: 'var(--text)', 'font-style': box.isInlined ? 'italic' : 'normal' })
    text.textContent = shortEnd(oneLine(box.name), letters)
    group.append(text)
  }
  return group
}

/** Distinguishes neighbours, without a meaning. */
function shade(name: string): number {
  let sum = 0
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 97
  return 0.16 + (sum % 4) * 0.05
}

export function describeBox(callers: CallersFigures, point: LensPoint, operation: string, box: Box): Description {
  const share = (samples: number) => percent(samples / callers.samples)
  const rows: [string, string][] = [['with callees', `${share(box.samples)} of the transfers, ${box.samples} samples`]]
  if (box.own > 0) rows.push(['itself', `${share(box.own)}, ${box.own} samples`])
  if (point.transfers) rows.push([`per ${operation}`, `about ${quantity((point.transfers.median * box.samples) / callers.samples, '')} transfers`])
  if (box.caller && box.caller.depth > 0) rows.push([box.isInlined ? 'inlined into' : 'called by', box.caller.name])
  return { heading: box.isUnknown ? 'unknown callers' : box.name, rows }
}

/** One row per chain. */
export function flameSheet(callers: CallersFigures): Sheet {
  const head = ['functions (outermost first)', 'all callers known', 'samples', 'transfers represented']
  const names = (frames: number[]) => frames.map((frame) => callers.frames[frame].name ?? UNKNOWN).reverse().join(';')
  const rows = callers.chains.map(({ frames, is_whole, samples }) => [names(frames), is_whole ? 'yes' : 'no', samples, samples * callers.one_in])
  return { head, rows }
}
