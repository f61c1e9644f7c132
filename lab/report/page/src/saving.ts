// Saving of charts: the drawing as standalone SVG, the data as CSV (RFC 4180) with all digits.

import { shape } from './drawing'
import { oneLine } from './figure'

/** A chart that can be saved. */
export interface Saved {
  /** The heading of the drawing. File names derive from it. */
  title: string
  /** A drawing of this width; `null` without values. */
  draw(width: number): { svg: SVGSVGElement } | null
  /** The data. */
  sheet(): Sheet
}

/** Width of saved drawings. */
const WIDTH = 760

/** The buttons of a chart. */
export function saveButtons(saved: Saved): HTMLElement {
  const row = document.createElement('p')
  row.className = 'save'
  row.append('Save as ', button('SVG', saved, saveDrawing), ' ', button('CSV', saved, saveData))
  return row
}

function button(format: string, saved: Saved, save: (saved: Saved) => void): HTMLElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = format
  button.setAttribute('aria-label', `Save as ${format}: ${saved.title}`)
  button.addEventListener('click', () => save(saved))
  return button
}

function saveDrawing(saved: Saved): void {
  const drawing = saved.draw(WIDTH)
  if (drawing) download(`${fileName(saved.title)}.svg`, 'image/svg+xml', standalone(drawing.svg, saved.title))
}

function saveData(saved: Saved): void {
  download(`${fileName(saved.title)}.csv`, 'text/csv', csv(saved.sheet()))
}

/** A title as a file name for any system. */
function fileName(title: string): string {
  return `faultline-${title.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 100)}`
}

function download(name: string, type: string, text: string): void {
  const link = document.createElement('a')
  link.download = name
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** Inherited properties of style in drawings. */
const INHERITED = [
  'color', 'fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'paint-order',
  'font-family', 'font-size', 'font-weight', 'text-anchor', 'visibility',
]
/** Space for the heading, in pixels. */
const HEADING = 30

/** The text of an SVG file. The drawing joins the page briefly, to read its computed styles. */
export function standalone(drawing: SVGSVGElement, title: string): string {
  const host = document.createElement('div')
  host.className = 'light canvas'
  host.append(drawing)
  document.body.append(host)
  const copy = drawing.cloneNode(true) as SVGSVGElement
  inline(drawing, copy, null)
  const colours = { ground: colour(host, '--paper'), text: colour(host, '--text') }
  host.remove()
  for (const style of copy.querySelectorAll('style')) style.remove()
  frame(copy, title, colours)
  return `<?xml version="1.0" encoding="UTF-8"?>\n${oneLine(new XMLSerializer().serializeToString(copy))}\n`
}

function colour(host: HTMLElement, name: string): string {
  return getComputedStyle(host).getPropertyValue(name).trim()
}

/** Writes the styles of each element that differ from those of its parent. */
function inline(element: Element, copy: Element, around: CSSStyleDeclaration | null): void {
  const style = getComputedStyle(element)
  for (const name of ['class', 'style']) copy.removeAttribute(name)
  for (const property of INHERITED) {
    copy.removeAttribute(property)
    const value = style.getPropertyValue(property)
    if (value !== around?.getPropertyValue(property)) copy.setAttribute(property, value)
  }
  if (style.opacity !== '1') copy.setAttribute('opacity', style.opacity)
  for (let child = 0; child < element.children.length; child++) inline(element.children[child], copy.children[child], style)
}

/** Adds a white background and a heading. */
function frame(svg: SVGSVGElement, title: string, { ground, text }: { ground: string; text: string }): void {
  const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))]
  const whole = { x: 0, y: -HEADING, width, height: height + HEADING }
  svg.setAttribute('viewBox', `${whole.x} ${whole.y} ${whole.width} ${whole.height}`)
  svg.setAttribute('height', String(whole.height))
  for (const name of ['aria-hidden', 'focusable']) svg.removeAttribute(name)
  svg.setAttribute('role', 'img')
  const name = shape('title', {})
  const paper = shape('rect', { ...whole, fill: ground })
  const heading = shape('text', { x: 10, y: -10, fill: text, 'font-size': 14, 'font-weight': 600, 'text-anchor': 'start' })
  for (const element of [name, heading]) element.textContent = title
  svg.prepend(name, paper, heading)
}

export type Value = string | number | null | undefined

export interface Sheet {
  /** Column names, with units in brackets. */
  head: string[]
  rows: Value[][]
}

export function csv({ head, rows }: Sheet): string {
  return [head, ...rows].map((row) => `${row.map(field).join(',')}\n`).join('')
}

function field(value: Value): string {
  const text = value === null || value === undefined ? '' : oneLine(String(value))
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
