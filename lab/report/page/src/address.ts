// What the reader has chosen, kept in the address's hash so that a link shows the same.

import { targetOf } from './links'

/** How a state is written in an address. */
export interface Codec<S> {
  parse(query: URLSearchParams): S
  /** Leaves out what is as usual. */
  format(state: S): URLSearchParams
}

export class Kept<S extends object> {
  state: S
  private readonly listeners: ((state: S, before: S) => void)[] = []

  /** `settled` makes a state that comes from an address free of contradictions. */
  constructor(
    private readonly codec: Codec<S>,
    private readonly settled: (state: S) => S,
  ) {
    this.state = this.parsed()
    addEventListener('hashchange', () => {
      if (!targetOf(location.hash)) this.take(this.settled(this.parsed()))
    })
  }

  private parsed(): S {
    return this.codec.parse(new URLSearchParams(location.hash.replace(/^#/, '')))
  }

  /** Settles the state with which the page was opened. */
  settle(): void {
    this.state = this.settled(this.state)
  }

  /** Calls `listener` after every change. */
  listen(listener: (state: S, before: S) => void): void {
    this.listeners.push(listener)
  }

  /** Takes a choice over and writes it into the address, without a step in the history. */
  set(change: Partial<S>): void {
    const next = { ...this.state, ...change }
    const hash = this.codec.format(next).toString().replaceAll('%3A', ':')
    history.replaceState(null, '', hash ? `#${hash}` : location.pathname + location.search)
    this.take(next)
  }

  private take(next: S): void {
    const before = this.state
    this.state = next
    for (const listener of this.listeners) listener(next, before)
  }
}
