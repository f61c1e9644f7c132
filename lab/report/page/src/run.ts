// Brings the page of a run to life: charts, and controls whose state stands in the address.

import { draw } from './chart'
import { curveKey } from './curve_key'
import { describe } from './describe'
import { Explorer } from './explorer'
import { exploreLens } from './lens'
import { goTo } from './links'
import type { Curve, RunSummary } from './model'
import { printed } from './printing'
import type { Mark } from './series'
import { Store, type State } from './state'
import { buildToolbar } from './toolbar'

interface Card {
  curve: Curve
  element: HTMLElement
  details: HTMLDetailsElement
  explorer: Explorer<Mark> | null
}

/** Adds to the page of a run its charts and controls. */
export function showRun(summary: RunSummary): void {
  const store = new Store()
  const cards = summary.curves.flatMap((curve, index) => cardOf(curve, index, store) ?? [])
  const bar = document.getElementById('toolbar')
  if (bar && cards.length > 0) buildToolbar(bar, store, summary)
  if (summary.lens) exploreLens(summary.lens)
  filter(cards, store.state)
  open(cards, store.state)?.element.scrollIntoView({ behavior: 'instant' })
  for (const card of cards) wireDetails(card, store)
  store.listen((state, before) => {
    filter(cards, state)
    if (state.open !== before.open) {
      const card = open(cards, state)
      if (card && !card.element.contains(document.activeElement)) goTo(card.element)
    }
    if (state.log !== before.log || state.view !== before.view) for (const card of cards) card.explorer?.redraw()
  })
}

function cardOf(curve: Curve, index: number, store: Store): Card | null {
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
function filter(cards: Card[], state: State): void {
  const known = cards.some((card) => card.curve.workload === state.filter)
  for (const card of cards) card.element.hidden = known && card.curve.workload !== state.filter
  const shown = cards.filter((card) => !card.element.hidden).length
  const count = document.querySelector('.count')
  const noun = cards.length === 1 ? 'curve' : 'curves'
  if (count) count.textContent = shown === cards.length ? `${shown} ${noun}` : `${shown} of ${cards.length} ${noun}`
}

/** Opens the chosen curve's details; the reader may have others open besides. */
function open(cards: Card[], state: State): Card | undefined {
  const card = cards.find((card) => curveKey(card.curve) === state.open)
  if (card) card.details.open = true
  return card
}

function wireDetails(card: Card, store: Store): void {
  const key = curveKey(card.curve)
  card.details.addEventListener('toggle', () => {
    if (printed.has(card.details)) {
      if (!card.details.open) printed.delete(card.details)
    } else if (card.details.open) store.set({ open: key })
    else if (store.state.open === key) store.set({ open: '' })
  })
}
