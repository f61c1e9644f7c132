// The controls above the curves: view, axes, workload. They show and change the state; they draw nothing.

import type { RunSummary } from './model'
import type { State, Store } from './state'
import { VIEWS, type View } from './views'

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

/** The filter, and the open curve only where the filter leaves it. */
function filtered(state: State, filter: string): Partial<State> {
  return { filter, open: filter === '' || state.open.startsWith(`${filter}:`) ? state.open : '' }
}

function axesOf(state: State): string {
  return state.log ? 'log' : 'linear'
}

/** A group of radio buttons, one of which holds. */
export function choice(legend: string, name: string, options: Record<string, string>, chosen: string, take: (value: string) => void): HTMLElement {
  const group = document.createElement('fieldset')
  group.className = 'choice'
  const title = document.createElement('legend')
  title.textContent = legend
  group.append(title)
  for (const [value, text] of Object.entries(options)) {
    const label = document.createElement('label')
    const input = document.createElement('input')
    Object.assign(input, { type: 'radio', name, value, checked: value === chosen })
    input.addEventListener('change', () => take(value))
    const words = document.createElement('span')
    words.textContent = text
    label.append(input, words)
    group.append(label)
  }
  return group
}

/** Shows that this one of a group holds. */
export function check(group: HTMLElement, value: string): void {
  for (const input of group.querySelectorAll('input')) input.checked = input.value === value
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
