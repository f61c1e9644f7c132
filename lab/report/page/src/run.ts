// The page of a run: cards with charts, and controls whose state is in the address.

import { type Codec, goTo, Kept, type Unhide } from './address'
import { check, choice } from './controls'
import { describe, draw, drawShares, isView, type Mark, samplesOf, sharesSheet, type View, VIEWS } from './curve'
import { Explorer } from './explorer'
import { exploreLens } from './lens'
import type { Curve, RunSummary } from './model'
import { cardsOf, keyOf, printed, titleOf } from './page'
import { saveButtons } from './saving'

export interface State {
  log: boolean
  view: View
  /** The name of a workload, or empty for all. */
  filter: string
  /** The key of the curve with open details, or empty. */
  open: string
}

const DEFAULT: State = { log: false, view: 'rate', filter: '', open: '' }

const CODEC: Codec<State> = {
  parse(query) {
    const view = query.get('view') ?? ''
    return {
      log: query.get('log') === '1',
      view: isView(view) ? view : DEFAULT.view,
      filter: query.get('filter') ?? '',
      open: query.get('open') ?? '',
    }
  },
  format(state) {
    const query = new URLSearchParams()
    if (state.log) query.set('log', '1')
    if (state.view !== DEFAULT.view) query.set('view', state.view)
    if (state.filter) query.set('filter', state.filter)
    if (state.open) query.set('open', state.open)
    return query
  },
}

export class Store extends Kept<State> {
  constructor(settled: (state: State) => State) {
    super(CODEC, settled)
  }
}

/** Minimum width of a large chart, in pixels. */
const WIDE = 480

interface Card {
  curve: Curve
  key: string
  element: HTMLElement
  details: HTMLDetailsElement
  explorer: Explorer<Mark> | null
}

/**
 * Adds charts and controls to the page of a run. Returns a function that shows a curve which the
 * filter hides.
 */
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

/** The card with open details. An address may omit the mode of the tasks. */
function chosen(cards: Card[], key: string): Card | undefined {
  if (!key) return undefined
  return cards.find((card) => card.key === key) ?? cards.find((card) => card.key.startsWith(`${key}:`))
}

function hides(cards: Card[], state: State, card: Card): boolean {
  return cards.some(({ curve }) => curve.workload === state.filter) && card.curve.workload !== state.filter
}

/** A state from outside, without a filter that hides the open curve. */
function settled(cards: Card[], state: State): State {
  const card = chosen(cards, state.open)
  return card && hides(cards, state, card) ? { ...state, filter: '' } : state
}

/** Shows the curves of the chosen workload and their number. */
function filter(cards: Card[], state: State): void {
  for (const card of cards) card.element.hidden = hides(cards, state, card)
  const shown = cards.filter((card) => !card.element.hidden).length
  const count = document.querySelector('.count')
  const noun = cards.length === 1 ? 'curve' : 'curves'
  if (count) count.textContent = shown === cards.length ? `${shown} ${noun}` : `${shown} of ${cards.length} ${noun}`
}

/** Opens the details of the chosen curve. Others stay open. */
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

export function buildToolbar(bar: HTMLElement, store: Store, summary: RunSummary): void {
  const titles = Object.fromEntries(Object.entries(VIEWS).map(([view, { title }]) => [view, title]))
  const views = choice('View', 'view', titles, store.state.view, (view) => store.set({ view: view as View }))
  const axes = choice('Axes', 'axes', { linear: 'Linear', log: 'Logarithmic' }, axesOf(store.state), (axes) => store.set({ log: axes === 'log' }))
  const workloads = [...new Set(summary.curves.map((curve) => curve.workload))]
  const filter = select(workloads, store)
  const count = document.createElement('p')
  count.className = 'count'
  count.setAttribute('role', 'status')
  bar.append(views, axes, filter, count)
  bar.hidden = false
  store.listen((state) => {
    check(views, state.view)
    check(axes, axesOf(state))
    filter.querySelector('select')!.value = workloads.includes(state.filter) ? state.filter : ''
  })
}

/** The filter, and the open curve if the filter includes it. */
function filtered(state: State, filter: string): Partial<State> {
  return { filter, open: filter === '' || state.open.startsWith(`${filter}:`) ? state.open : '' }
}

function axesOf(state: State): string {
  return state.log ? 'log' : 'linear'
}

function select(workloads: string[], store: Store): HTMLElement {
  const label = document.createElement('label')
  label.className = 'filter'
  label.append('Workload ')
  const select = document.createElement('select')
  select.append(new Option('all', ''), ...workloads.map((name) => new Option(name, name)))
  select.value = workloads.includes(store.state.filter) ? store.state.filter : ''
  select.addEventListener('change', () => store.set(filtered(store.state, select.value)))
  label.append(select)
  return label
}
