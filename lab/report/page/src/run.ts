// Brings the page of a run to life: charts, and controls whose state stands in the address.

import { cardsOf, keyOf, titleOf } from './cards'
import { draw } from './chart'
import { describe } from './describe'
import { Explorer } from './explorer'
import { exploreLens } from './lens'
import { goTo, type Unhide } from './links'
import type { Curve, RunSummary } from './model'
import { printed } from './printing'
import type { Mark } from './series'
import { samplesOf } from './samples'
import { saveButtons } from './saving'
import { drawShares, sharesSheet } from './shares'
import { Store, type State } from './state'
import { buildToolbar } from './toolbar'

/** A chart as wide as this is drawn large, in pixels. */
const WIDE = 480

interface Card {
  curve: Curve
  key: string
  element: HTMLElement
  details: HTMLDetailsElement
  explorer: Explorer<Mark> | null
}

/** Adds to the page of a run its charts and controls; gives back how a curve that the filter hides comes into sight. */
export function showRun(summary: RunSummary): Unhide {
  const cards: Card[] = []
  const store = new Store((state) => settled(cards, state))
  for (const { item, element } of cardsOf(summary.curves)) cards.push(cardOf(item, element, store))
  store.settle()
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
  return (target) => {
    if (cards.some(({ element }) => element.hidden && element.contains(target))) store.set({ filter: '' })
  }
}

function cardOf(curve: Curve, element: HTMLElement, store: Store): Card {
  const chart = element.querySelector<HTMLElement>('.chart')
  const subject = {
    draw: (width: number) => draw(curve, store.state, width, width < WIDE && element.parentElement!.matches('.small')),
    describe: (mark: Mark) => describe(curve, store.state.view, mark),
    sheet: () => samplesOf(curve),
    title: titleOf(curve),
  }
  const details = element.querySelector('details')!
  const shares = { title: `${titleOf(curve)}: time of all CPUs`, draw: (width: number) => drawShares(curve, width), sheet: () => sharesSheet(curve) }
  element.querySelector('.bars')?.after(saveButtons(shares))
  return { curve, key: keyOf(element), element, details, explorer: chart ? new Explorer(chart, subject) : null }
}

/** The card whose details are to be open. An address may leave out what the tasks are. */
function chosen(cards: Card[], key: string): Card | undefined {
  if (!key) return undefined
  return cards.find((card) => card.key === key) ?? cards.find((card) => card.key.startsWith(`${key}:`))
}

function hides(cards: Card[], state: State, card: Card): boolean {
  return cards.some(({ curve }) => curve.workload === state.filter) && card.curve.workload !== state.filter
}

/** A state from outside without its filter where that would hide the curve that it opens. */
function settled(cards: Card[], state: State): State {
  const card = chosen(cards, state.open)
  return card && hides(cards, state, card) ? { ...state, filter: '' } : state
}

/** Shows the curves of the chosen workload only, and says how many. */
function filter(cards: Card[], state: State): void {
  for (const card of cards) card.element.hidden = hides(cards, state, card)
  const shown = cards.filter((card) => !card.element.hidden).length
  const count = document.querySelector('.count')
  const noun = cards.length === 1 ? 'curve' : 'curves'
  if (count) count.textContent = shown === cards.length ? `${shown} ${noun}` : `${shown} of ${cards.length} ${noun}`
}

/** Opens the chosen curve's details; the reader may have others open besides. */
function open(cards: Card[], state: State): Card | undefined {
  const card = chosen(cards, state.open)
  if (card) card.details.open = true
  return card
}

function wireDetails(card: Card, store: Store): void {
  card.details.addEventListener('toggle', () => {
    if (printed.has(card.details)) {
      if (!card.details.open) printed.delete(card.details)
    } else if (card.details.open) {
      store.set({ open: card.key })
      if (card.element.contains(document.activeElement)) card.element.scrollIntoView({ block: 'nearest' })
    } else if (store.state.open === card.key) store.set({ open: '' })
  })
}
