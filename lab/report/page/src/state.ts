// What the reader has chosen, kept in the address's hash so that a link shows the same: axes, view, filter, open curve.

import { targetOf } from './links'
import { isView, type View } from './views'

export interface State {
  log: boolean
  view: View
  /** A workload's name, or nothing for all. */
  filter: string
  /** Name of the curve whose details are open, or nothing. */
  open: string
}

const DEFAULT: State = { log: false, view: 'rate', filter: '', open: '' }

function parse(hash: string): State {
  const query = new URLSearchParams(hash.replace(/^#/, ''))
  const view = query.get('view') ?? ''
  return {
    log: query.get('log') === '1',
    view: isView(view) ? view : DEFAULT.view,
    filter: query.get('filter') ?? '',
    open: query.get('open') ?? '',
  }
}

function format(state: State): string {
  const query = new URLSearchParams()
  if (state.log) query.set('log', '1')
  if (state.view !== DEFAULT.view) query.set('view', state.view)
  if (state.filter) query.set('filter', state.filter)
  if (state.open) query.set('open', state.open)
  return query.toString().replaceAll('%3A', ':')
}

export class Store {
  state: State = parse(location.hash)
  private readonly listeners: ((state: State, before: State) => void)[] = []

  /** `settled` makes a state that comes from an address free of contradictions. */
  constructor(private readonly settled: (state: State) => State) {
    addEventListener('hashchange', () => {
      if (!targetOf(location.hash)) this.take(this.settled(parse(location.hash)))
    })
  }

  /** Settles the state with which the page was opened. */
  settle(): void {
    this.state = this.settled(this.state)
  }

  /** Calls `listener` after every change. */
  listen(listener: (state: State, before: State) => void): void {
    this.listeners.push(listener)
  }

  /** Takes a choice over and writes it into the address, without a step in the history. */
  set(change: Partial<State>): void {
    const next = { ...this.state, ...change }
    const hash = format(next)
    history.replaceState(null, '', hash ? `#${hash}` : location.pathname + location.search)
    this.take(next)
  }

  private take(next: State): void {
    const before = this.state
    this.state = next
    for (const listener of this.listeners) listener(next, before)
  }
}
