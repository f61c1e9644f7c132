// State in the address, links within the page, and the page's data. A link shows the same state to
// others.

/** Reading and writing a state in an address. */
export interface Codec<S> {
  parse(query: URLSearchParams): S
  /** Omits defaults. */
  format(state: S): URLSearchParams
}

export class Kept<S extends object> {
  state: S
  private readonly listeners: ((state: S, before: S) => void)[] = []

  /** `settled` resolves contradictions in a state from an address. */
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

  /** Settles the initial state. */
  settle(): void {
    this.state = this.settled(this.state)
  }

  /** Calls `listener` after each change. */
  listen(listener: (state: S, before: S) => void): void {
    this.listeners.push(listener)
  }

  /** Changes the state and the address, without an entry in the browser's history. */
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

/** Shows the target of a link if the reader's choice hides it. */
export type Unhide = (target: HTMLElement) => void

/** Makes links and addresses with a part of the page lead there, even if it is hidden. */
export function wireLinks(unhide: Unhide): void {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]')
    const target = link && targetOf(link.hash)
    if (!target) return
    event.preventDefault()
    reveal(target, unhide)
  })
  const arrive = () => {
    const target = targetOf(location.hash)
    if (target) reveal(target, unhide)
  }
  addEventListener('hashchange', arrive)
  arrive()
}

/** The part of the page in a hash; `null` for the hash of a state. */
export function targetOf(hash: string): HTMLElement | null {
  return document.getElementById(hash.slice(1))
}

/** Shows an element, and unfolds everything around it. */
function reveal(target: HTMLElement, unhide: Unhide): void {
  for (let folded = target.closest('details'); folded; folded = folded.parentElement?.closest('details') ?? null) folded.open = true
  unhide(target)
  goTo(target)
}

/** Scrolls to an element and focuses it. */
export function goTo(target: HTMLElement): void {
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  target.focus({ preventScroll: true })
  target.scrollIntoView({ behavior: still ? 'auto' : 'smooth', block: 'start' })
}

/** Makes the download link save the text of the page's data. */
export function wireDownload(name: string): void {
  const link = document.getElementById('download') as HTMLAnchorElement | null
  if (!link) return
  link.download = name
  link.href = URL.createObjectURL(new Blob([dataText()], { type: 'application/json' }))
  link.hidden = false
}

/** The text of the page's data. */
export function dataText(page: Document = document): string {
  return page.getElementById('data')?.textContent ?? ''
}

/**
 * The data: a run's summary, a comparison or a timeline, by `format`; `null` on a page without a
 * plot.
 */
export function readData<T>(page: Document = document): T | null {
  const text = dataText(page)
  return text ? (JSON.parse(text) as T) : null
}
