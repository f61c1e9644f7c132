// A drawing as a file that needs nothing else: styles are written into its elements, colours are those of the light mode on a white ground.

import { oneLine } from './shorten'

/** Properties of style that drawings use and that pass from an element to those within it. */
const INHERITED = [
  'color', 'fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'paint-order',
  'font-family', 'font-size', 'font-weight', 'text-anchor', 'visibility',
]
const SVG = 'http://www.w3.org/2000/svg'
/** Room for the heading above the drawing. */
const HEADING = 30

/** The text of an SVG file. Takes the drawing into the page for a moment, where its styles can be read. */
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

/** Writes into each element of the copy what differs from the element around it. */
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

/** Puts a white ground and a heading behind the drawing. */
function frame(svg: SVGSVGElement, title: string, { ground, text }: { ground: string; text: string }): void {
  const [width, height] = [Number(svg.getAttribute('width')), Number(svg.getAttribute('height'))]
  const whole = { x: 0, y: -HEADING, width, height: height + HEADING }
  svg.setAttribute('viewBox', `${whole.x} ${whole.y} ${whole.width} ${whole.height}`)
  svg.setAttribute('height', String(whole.height))
  for (const name of ['aria-hidden', 'focusable']) svg.removeAttribute(name)
  svg.setAttribute('role', 'img')
  const name = document.createElementNS(SVG, 'title')
  name.textContent = title
  const paper = document.createElementNS(SVG, 'rect')
  for (const [key, value] of Object.entries({ ...whole, fill: ground })) paper.setAttribute(key, String(value))
  const heading = document.createElementNS(SVG, 'text')
  for (const [key, value] of Object.entries({ x: 10, y: -10, fill: text, 'font-size': 14, 'font-weight': 600, 'text-anchor': 'start' })) heading.setAttribute(key, String(value))
  heading.textContent = title
  svg.prepend(name, paper, heading)
}
