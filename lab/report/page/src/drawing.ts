// Common parts of drawings: style, SVG elements, legends, colours, marks and labels.

import * as Plot from '@observablehq/plot'
import { tick } from './figure'
import type { StepMark } from './model'

export const STYLE = { background: 'none', fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' }

export type Drawn = SVGSVGElement & Plot.Plot

/** Hides a drawing from screen readers and keyboard: the chart around it has texts and focus. */
export function silent(plot: Element): Drawn {
  plot.setAttribute('aria-hidden', 'true')
  plot.setAttribute('focusable', 'false')
  return plot as Drawn
}

/** Numbers of tasks with enough space for their labels, always including the last. */
export function spaced(tasks: number[], log: boolean): number[] {
  const place = (value: number) => (log ? Math.log(value) : value)
  const room = (place(Math.max(...tasks)) - (log ? place(Math.min(...tasks)) : 0)) / 18
  const kept: number[] = []
  for (const value of tasks.toReversed()) {
    if (kept.length === 0 || place(kept.at(-1)!) - place(value) >= room) kept.push(value)
  }
  return kept.reverse()
}

const SVG = 'http://www.w3.org/2000/svg'

/** An SVG element. */
export function shape<N extends keyof SVGElementTagNameMap>(name: N, attributes: Record<string, string | number>): SVGElementTagNameMap[N] {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

const [LEFT, TOP, BOX_WIDTH, BOX_HEIGHT] = [12, 20, 56, 12]

/** Space for the legend, in pixels. */
export const LEGEND_ROOM = 62

export interface Entry {
  words: string
  fill: string
  /** 1 by default. */
  opacity?: number
}

export function withLegend(svg: SVGSVGElement, title: string, entries: Entry[]): void {
  const legend = shape('g', { class: 'legend', fill: 'currentColor' })
  legend.append(text(title, LEFT, TOP - 7, 'start'))
  entries.forEach(({ words, fill, opacity = 1 }, index) => {
    const place = { x: LEFT + index * BOX_WIDTH, y: TOP, width: BOX_WIDTH, height: BOX_HEIGHT }
    legend.append(shape('rect', { ...place, fill: 'var(--sunk)' }))
    legend.append(shape('rect', { ...place, fill, 'fill-opacity': opacity }))
    legend.append(text(words, LEFT + (index + 0.5) * BOX_WIDTH, TOP + BOX_HEIGHT + 13, 'middle'))
  })
  svg.append(legend)
}

function text(words: string, x: number, y: number, anchor: string): SVGElement {
  const text = shape('text', { x, y, 'text-anchor': anchor })
  text.textContent = words
  return text
}

/** Opacity of the smallest count above 0. */
const LEAST = 0.12
/** Steps of the legend above 0. */
const STEPS = 4

/** Opacity by the square root of the count, so that small counts stay visible. */
export function strengthOf(count: number, most: number): number {
  return count === 0 ? 0 : LEAST + (1 - LEAST) * Math.sqrt(count / most)
}

/** Counts from 0 to the maximum, with colours at about equal distances. */
export function strengths(most: number): Entry[] {
  const between = Array.from({ length: STEPS - 1 }, (_, step) => Math.round(Number((most * ((step + 1) / STEPS) ** 2).toPrecision(2))))
  return [...new Set([0, ...between, most])].map((count) => ({ words: tick(count, ''), fill: 'var(--accent)', opacity: strengthOf(count, most) }))
}

export interface SeriesLook {
  /** The number in the legend and at the end of the line. */
  number: number
  symbol: Plot.SymbolType
  colour: string
}

const SYMBOLS: Plot.SymbolType[] = ['circle', 'diamond', 'square', 'triangle', 'star', 'wye']

/** The look of a history by its number in the plot, from 0. */
export function lookOfSeries(series: number): SeriesLook {
  const number = series + 1
  return { number, symbol: SYMBOLS[series % SYMBOLS.length], colour: series === 0 ? 'var(--accent)' : `var(--series-${number})` }
}

/** A history's mark for the legend. */
export function sampleOf(look: SeriesLook): SVGSVGElement {
  const sample = Plot.dot([[0, 0]], { symbol: look.symbol, r: 5, fill: look.colour, stroke: 'var(--paper)' })
  return silent(Plot.plot({ width: 18, height: 18, margin: 0, axis: null, x: { domain: [-1, 1] }, y: { domain: [-1, 1] }, marks: [sample] }))
}

export interface Look {
  colour: string
  /** Dashes of the line; empty for a solid line. */
  dashes: string
  /** The class in the strip. */
  name: string
}

export function lookOf(step: StepMark): Look {
  if (step.certainty === 'quirk' || step.certainty === 'layout') return { colour: 'var(--muted)', dashes: '1 4', name: 'quirk' }
  if (step.certainty !== 'certain') return { colour: 'var(--partly)', dashes: '6 4', name: 'open' }
  return step.is_better ? { colour: 'var(--good)', dashes: '', name: 'better' } : { colour: 'var(--bad)', dashes: '', name: 'worse' }
}

/** Change, meaning, and state if a reader set one. */
export function wordsOf(step: StepMark): string {
  return `${step.change}, ${step.what}${step.state === 'found' || step.state === '' ? '' : `, ${step.state}`}`
}

export type Anchor = 'start' | 'middle' | 'end'

export interface Wanted {
  /** The place of the text, in pixels. */
  x: number
  /** The side of the text at its place. */
  anchor: Anchor
  /** The text and shorter alternatives, the shortest last. */
  texts: string[]
}

export interface Placed {
  /** The number of its line. */
  line: number
  text: string
}

/** Approximate pixels per character, and between two texts. */
const [LETTER, BETWEEN] = [6.6, 8]
const REACH: Record<Anchor, (x: number, length: number) => [number, number]> = {
  start: (x, length) => [x, x + length],
  middle: (x, length) => [x - length / 2, x + length / 2],
  end: (x, length) => [x - length, x],
}

/**
 * The place of each text in one of the lines, in order of priority; `null` if even the shortest
 * alternative does not fit.
 */
export function placed(wanted: Wanted[], lines: number): (Placed | null)[] {
  const taken: [number, number][][] = Array.from({ length: lines }, () => [])
  return wanted.map(({ x, anchor, texts }) => {
    for (const text of texts) {
      const [left, right] = REACH[anchor](x, text.length * LETTER + BETWEEN)
      const line = taken.findIndex((there) => there.every(([from, to]) => to <= left || right <= from))
      if (line < 0) continue
      taken[line].push([left, right])
      return { line, text }
    }
    return null
  })
}
