// How strong the colour of a count is, and the legend that says which strength stands for which count.

import { tick } from './figure'

/** The weakest colour that a count above 0 has. */
const LEAST = 0.12
/** Steps of the legend above 0. */
const STEPS = 4
const SVG = 'http://www.w3.org/2000/svg'
const [LEFT, TOP, BOX_WIDTH, BOX_HEIGHT] = [12, 20, 56, 12]

/** The colour's strength, by the square root of the count: a tenth of the most still stands out. */
export function strengthOf(count: number, most: number): number {
  return count === 0 ? 0 : LEAST + (1 - LEAST) * Math.sqrt(count / most)
}

/** Counts whose colours are about equally far apart, from 0 to the most. */
export function legendCounts(most: number): number[] {
  const counts = Array.from({ length: STEPS - 1 }, (_, step) => Number((most * ((step + 1) / STEPS) ** 2).toPrecision(2)))
  return [...new Set([0, ...counts.map(Math.round), most])]
}

/** Adds the legend at the top of a drawing that has room for it. */
export function withLegend(svg: SVGSVGElement, most: number, title: string): void {
  const legend = element('g', { class: 'legend', fill: 'currentColor' })
  legend.append(text(title, LEFT, TOP - 7, 'start'))
  legendCounts(most).forEach((count, index) => {
    const place = { x: String(LEFT + index * BOX_WIDTH), y: String(TOP), width: String(BOX_WIDTH), height: String(BOX_HEIGHT) }
    legend.append(element('rect', { ...place, fill: 'var(--sunk)' }))
    legend.append(element('rect', { ...place, fill: 'var(--accent)', 'fill-opacity': String(strengthOf(count, most)) }))
    legend.append(text(tick(count, ''), LEFT + (index + 0.5) * BOX_WIDTH, TOP + BOX_HEIGHT + 13, 'middle'))
  })
  svg.append(legend)
}

function text(words: string, x: number, y: number, anchor: string): SVGElement {
  const text = element('text', { x: String(x), y: String(y), 'text-anchor': anchor })
  text.textContent = words
  return text
}

function element(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  return element
}
