// Brings the page to life: the tables are there without it; this adds charts, controls, sorting and links.

import { draw } from './chart'
import { describe } from './describe'
import { Explorer } from './explorer'
import { exploreLens } from './lens'
import { goTo, wireDownload, wireLinks } from './links'
import type { Mark } from './series'
import { makeSortable } from './sorting'
import { Store, type State } from './state'
import { curveKey, readSummary, type Curve } from './summary'
import { buildToolbar } from './toolbar'

interface Card {
  curve: Curve
  element: HTMLElement
  details: HTMLDetailsElement
  explorer: Explorer<Mark> | null
}

const summary = readSummary()
const store = new Store()
/** Details that are open for the printer only. */
const printed = new Set<HTMLDetailsElement>()
const cards: Card[] = summary.curves.flatMap((curve, index) => cardOf(curve, index) ?? [])

function cardOf(curve: Curve, index: number): Card | null {
  const element = document.getElementById(`curve-${index}`)
  const details = element?.querySelector('details')
  if (!element || !details) return null
  const chart = element.querySelector<HTMLElement>('.chart')
  const subject = {
    draw: (width: number) => draw(curve, store.state, width),
    describe: (mark: Mark) => describe(curve, store.state.view, mark),
  }
  return { curve, element, details, explorer: chart ? new Explorer(chart, subject) : null }
}

/** Shows the curves of the chosen workload only, and says how many. */
function filter(state: State): void {
  const known = summary.curves.some((curve) => curve.workload === state.filter)
  for (const card of cards) card.element.hidden = known && card.curve.workload !== state.filter
  const shown = cards.filter((card) => !card.element.hidden).length
  const count = document.querySelector('.count')
  const noun = cards.length === 1 ? 'curve' : 'curves'
  if (count) count.textContent = shown === cards.length ? `${shown} ${noun}` : `${shown} of ${cards.length} ${noun}`
}

/** Opens the chosen curve's details; the reader may have others open besides. */
function open(state: State): Card | undefined {
  const card = cards.find((card) => curveKey(card.curve) === state.open)
  if (card) card.details.open = true
  return card
}

function wireDetails(card: Card): void {
  const key = curveKey(card.curve)
  card.details.addEventListener('toggle', () => {
    if (printed.has(card.details)) {
      if (!card.details.open) printed.delete(card.details)
    } else if (card.details.open) store.set({ open: key })
    else if (store.state.open === key) store.set({ open: '' })
  })
}

/** On paper everything is open; that is no choice of the reader's. */
function wirePrint(): void {
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details:not([open])')) {
      printed.add(details)
      details.open = true
    }
  })
  addEventListener('afterprint', () => {
    for (const details of printed) details.open = false
  })
}

document.documentElement.classList.add('live')
const bar = document.getElementById('toolbar')
if (bar && cards.length > 0) buildToolbar(bar, store, summary)
document.querySelectorAll<HTMLTableElement>('table.sortable').forEach(makeSortable)
if (summary.lens) exploreLens(summary.lens)
filter(store.state)
open(store.state)?.element.scrollIntoView({ behavior: 'instant' })
cards.forEach(wireDetails)
store.listen((state, before) => {
  filter(state)
  if (state.open !== before.open) {
    const card = open(state)
    if (card && !card.element.contains(document.activeElement)) goTo(card.element)
  }
  if (state.log !== before.log || state.view !== before.view) for (const card of cards) card.explorer?.redraw()
})
wireLinks()
wireDownload(summary)
wirePrint()
