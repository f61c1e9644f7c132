// A row of colours with what each stands for, at the top of a drawing that has room for it.

const SVG = 'http://www.w3.org/2000/svg'
const [LEFT, TOP, BOX_WIDTH, BOX_HEIGHT] = [12, 20, 56, 12]

/** Room that a drawing leaves for its legend, in pixels. */
export const LEGEND_ROOM = 62

export interface Entry {
  words: string
  fill: string
  /** 1 unless it says otherwise. */
  opacity?: number
}

export function withLegend(svg: SVGSVGElement, title: string, entries: Entry[]): void {
  const legend = element('g', { class: 'legend', fill: 'currentColor' })
  legend.append(text(title, LEFT, TOP - 7, 'start'))
  entries.forEach(({ words, fill, opacity = 1 }, index) => {
    const place = { x: String(LEFT + index * BOX_WIDTH), y: String(TOP), width: String(BOX_WIDTH), height: String(BOX_HEIGHT) }
    legend.append(element('rect', { ...place, fill: 'var(--sunk)' }))
    legend.append(element('rect', { ...place, fill, 'fill-opacity': String(opacity) }))
    legend.append(text(words, LEFT + (index + 0.5) * BOX_WIDTH, TOP + BOX_HEIGHT + 13, 'middle'))
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
