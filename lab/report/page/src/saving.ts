// Buttons that save a chart: its drawing as SVG, its data as CSV. Both are made here, without any network.

import { csv, type Sheet } from './csv'
import { standalone } from './standalone'

/** What of a chart can be saved. */
export interface Saved {
  /** What the chart shows: the drawing's heading, and in words the files' name. */
  title: string
  /** The drawing in that width, or nothing when there is no figure to draw. */
  draw(width: number): { svg: SVGSVGElement } | null
  /** The data behind it. */
  sheet(): Sheet
}

/** Width of a saved drawing. */
const WIDTH = 760

/** The row of buttons for a chart. */
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

/** A title as the name of a file on any system. */
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
