// How the histories of one plot are told apart: by a number, a mark and a colour. The first is the one of the page.

import * as Plot from '@observablehq/plot'
import { silent } from './frame'

export interface SeriesLook {
  /** As the legend and the end of its line have it. */
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

/** The mark of a history alone, for a legend. */
export function sampleOf(look: SeriesLook): SVGSVGElement {
  const sample = Plot.dot([[0, 0]], { symbol: look.symbol, r: 5, fill: look.colour, stroke: 'var(--paper)' })
  return silent(Plot.plot({ width: 18, height: 18, margin: 0, axis: null, x: { domain: [-1, 1] }, y: { domain: [-1, 1] }, marks: [sample] }))
}
