// Draws the flame graph: the functions on the way to the transfers of a sample, each as wide as its share. A function lies on its caller. Knows
// nothing of pointer and keyboard.

import type { Sheet } from './csv'
import type { Arrow, Drawing } from './explorer'
import { percent, quantity } from './figure'
import { silent, STYLE } from './frame'
import type { CallersFigures, LensPoint } from './model'
import { oneLine, shortEnd } from './shorten'
import type { Description } from './tooltip'

/** A function with the callers below it. */
export interface Box {
  name: string
  isInlined: boolean
  /** It stands for callers that are not known. */
  isUnknown: boolean
  depth: number
  /** Samples to the left of it, and its own: with all that it called. */
  from: number
  samples: number
  /** Samples whose transfer it caused itself. */
  own: number
  caller: Box | null
  called: Box[]
}

const SVG = 'http://www.w3.org/2000/svg'
const [ROW_HEIGHT, SIDE, LETTER] = [19, 8, 6.6]
/** Fewest letters of a name that are worth their place. */
const FEWEST_LETTERS = 3
/** Least share of a function that is drawn. */
export const LEAST_SHARE = 0.002
const UNKNOWN = '[unknown]'

/** Functions are one box where they have the same callers. The first box is all samples; then its callees from the left, each with its own. */
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
  const svg = element('svg', { width, height, viewBox: `0 0 ${width} ${height}`, fill: 'currentColor' })
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

/** Up is what it called most, down its caller, left and right the next on the same row. */
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

/** Unknown callers have a dashed outline, inlined functions slanted letters: no meaning rests on colour. */
function drawBox(box: Box, x: number, y: number, width: number): SVGElement {
  const group = element('g', { class: box.isUnknown ? 'box unknown' : 'box' })
  const looks: Record<string, string | number> = box.isUnknown ? { fill: 'var(--sunk)', stroke: 'var(--muted)', 'stroke-dasharray': '3 2' } : { fill: 'var(--accent)', 'fill-opacity': shade(box.name), stroke: 'var(--paper)' }
  group.append(element('rect', { x, y, width: Math.max(width, 0.5), height: ROW_HEIGHT - 1, ...looks }))
  const letters = Math.floor((width - 6) / LETTER)
  if (letters >= FEWEST_LETTERS) {
    const text = element('text', { x: x + 3, y: y + ROW_HEIGHT - 6, fill: 'var(--text)', 'font-style': box.isInlined ? 'italic' : 'normal' })
    text.textContent = shortEnd(oneLine(box.name), letters)
    group.append(text)
  }
  return group
}

/** Tells neighbours apart; it has no meaning. */
function shade(name: string): number {
  let sum = 0
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 97
  return 0.16 + (sum % 4) * 0.05
}

function element<N extends 'svg' | 'g' | 'rect' | 'text'>(name: N, attributes: Record<string, string | number>): SVGElementTagNameMap[N] {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value))
  return element
}

export function describeBox(callers: CallersFigures, point: LensPoint, operation: string, box: Box): Description {
  const share = (samples: number) => percent(samples / callers.samples)
  const rows: [string, string][] = [['with what it called', `${share(box.samples)} of the transfers, ${box.samples} samples`]]
  if (box.own > 0) rows.push(['itself', `${share(box.own)}, ${box.own} samples`])
  if (point.transfers) rows.push([`per ${operation}`, `about ${quantity((point.transfers.median * box.samples) / callers.samples, '')} transfers`])
  if (box.caller && box.caller.depth > 0) rows.push([box.isInlined ? 'inlined into' : 'called by', box.caller.name])
  return { heading: box.isUnknown ? 'callers that are not known' : box.name, rows }
}

/** A row for each chain. */
export function flameSheet(callers: CallersFigures): Sheet {
  const head = ['functions (the outermost first)', 'callers all known', 'samples', 'transfers that they stand for']
  const names = (frames: number[]) => frames.map((frame) => callers.frames[frame].name ?? UNKNOWN).reverse().join(';')
  const rows = callers.chains.map(({ frames, is_whole, samples }) => [names(frames), is_whole ? 'yes' : 'no', samples, samples * callers.one_in])
  return { head, rows }
}
