// Pages that change: updates during a run, news since the last visit, and the work list of changes.

import { type Codec, Kept } from './address'
import { check, choice } from './controls'

/** Pause between requests during a run, and without one. */
const PAUSES_MS = { on: 5000, off: 15_000 }
const LIVE = 'This page updates automatically.'
const SILENT = 'The server does not answer. Retrying.'

/** Calls `take` with each changed page. No effect on files. */
export function keepLive(take: (page: Document) => void): void {
  const line = document.querySelector<HTMLElement>('[data-live]')
  if (!line) return
  let tag: string | null = null
  const look = async () => {
    const answer = await fetch(location.pathname + location.search)
    if (!answer.ok) return tell(line, `The server answers with status ${answer.status}. Retrying.`)
    if (answer.headers.get('etag') !== tag) {
      tag = answer.headers.get('etag')
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      takeLine(line, page)
      take(page)
    }
    tell(line, LIVE)
  }
  const again = async () => {
    if (!document.hidden) await look().catch(() => tell(line, SILENT))
    setTimeout(() => void again(), pause(line))
  }
  tell(line, LIVE)
  setTimeout(() => void again(), pause(line))
}

function pause(line: HTMLElement): number {
  return line.dataset.live === 'on' ? PAUSES_MS.on : PAUSES_MS.off
}

/** Replaces the line by that of a newer page. */
function takeLine(line: HTMLElement, page: Document): void {
  const now = page.querySelector<HTMLElement>('[data-live]')
  if (!now || now.dataset.live === line.dataset.live) return
  line.dataset.live = now.dataset.live
  line.replaceChildren(...now.childNodes)
}

/** States whether the page is up to date. Without an active run, only failures are stated. */
function tell(line: HTMLElement, words: string): void {
  const status = line.querySelector('.live-state')
  const text = words === LIVE && line.dataset.live === 'off' ? '' : words
  if (status) status.textContent = text
  else if (line.textContent !== text) line.textContent = text
}

/** Replaces parts by those of a newer page, except parts in use. Returns the new parts. */
export function replaceParts(page: Document, ids: string[]): HTMLElement[] {
  return ids.flatMap((id) => {
    const [old, now] = [document.getElementById(id), page.getElementById(id)]
    if (!old || !now || old.contains(document.activeElement) || old.querySelector('details[open]')) return []
    keepChosen(old, now)
    old.replaceWith(now)
    return [now]
  })
}

/** Keeps the reader's choices in a part. */
function keepChosen(old: HTMLElement, now: HTMLElement): void {
  const inputs = [...now.querySelectorAll('input')]
  for (const { name, value } of old.querySelectorAll<HTMLInputElement>('input:checked')) {
    const same = inputs.find((input) => input.name === name && input.value === value)
    if (same) same.checked = true
  }
}

const KEY = 'faultline-seen'

/** The seen state of a history: first commit of its last step, and number of measured commits. */
interface Seen {
  step: string
  measured: number
}

/**
 * Marks news and saves the present state. Returns a function that marks news of a newer list,
 * relative to the same visit.
 */
export function showNews(): () => void {
  const before = remembered()
  const mark = () => markNews(before)
  mark()
  return mark
}

function markNews(before: Record<string, Seen> | null): void {
  const rows = [...document.querySelectorAll<HTMLTableRowElement>('#histories tr[data-history]')]
  if (rows.length === 0) return
  document.getElementById('news')?.remove()
  let news = 0
  for (const row of rows) {
    const now = { step: row.dataset.step ?? '', measured: Number(row.dataset.measured) }
    const words = before ? newsOf(before[row.dataset.history!], now) : ''
    if (!words) continue
    news += 1
    row.cells[0].querySelector('.new')?.remove()
    row.cells[0].append(' ', badge(words))
  }
  if (before) tellNews(news)
  remember(Object.fromEntries(rows.map((row) => [row.dataset.history!, { step: row.dataset.step ?? '', measured: Number(row.dataset.measured) }])))
}

function newsOf(before: Seen | undefined, now: Seen): string {
  if (!before) return 'new'
  const parts = [
    now.step !== '' && now.step !== before.step ? 'new step' : '',
    now.measured > before.measured ? `+${now.measured - before.measured} ${now.measured - before.measured === 1 ? 'commit' : 'commits'}` : '',
  ]
  return parts.filter((part) => part !== '').join(', ')
}

function badge(words: string): HTMLElement {
  const badge = document.createElement('span')
  badge.className = 'badge new'
  badge.textContent = words
  return badge
}

/** States the number of histories with news, below the heading. */
function tellNews(news: number): void {
  const status = document.createElement('p')
  status.className = 'hint'
  status.id = 'news'
  status.textContent = news === 0 ? 'No news since your last visit with this browser.' : `${news} ${news === 1 ? 'history has' : 'histories have'} news since your last visit with this browser.`
  document.getElementById('histories-title')?.after(status)
}

/** The state at the last visit; `null` at the first visit, or without local storage. */
function remembered(): Record<string, Seen> | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? 'null')
    return typeof kept === 'object' ? (kept as Record<string, Seen> | null) : null
  } catch {
    return null
  }
}

function remember(seen: Record<string, Seen>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...remembered(), ...seen }))
  } catch {
    // Without local storage, each visit is the first.
  }
}

const SHOWN = { open: 'Open', all: 'All', found: 'Found', confirmed: 'Confirmed', ignored: 'Ignored', fixed: 'Fixed' }
type Shown = keyof typeof SHOWN

interface State {
  shown: Shown
}

const CODEC: Codec<State> = {
  parse(query) {
    const shown = query.get('state') ?? ''
    return { shown: Object.hasOwn(SHOWN, shown) ? (shown as Shown) : 'open' }
  },
  format: ({ shown }) => new URLSearchParams(shown === 'open' ? {} : { state: shown }),
}

export function showWorklist(): void {
  const bar = document.querySelector<HTMLElement>('#changes #toolbar')
  const rows = [...document.querySelectorAll<HTMLTableRowElement>('#changes tbody tr[data-state]')]
  if (!bar || rows.length === 0) return
  const kept = new Kept(CODEC, (state) => state)
  const status = document.createElement('p')
  status.className = 'count'
  status.setAttribute('role', 'status')
  const states = choice('State', 'state', SHOWN, kept.state.shown, (shown) => kept.set({ shown: shown as Shown }))
  bar.append(states, status)
  bar.hidden = false
  const filter = ({ shown }: State) => {
    for (const row of rows) row.hidden = !isShown(row, shown)
    status.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} changes`
    check(states, shown)
  }
  kept.listen(filter)
  filter(kept.state)
}

function isShown(row: HTMLTableRowElement, shown: Shown): boolean {
  if (shown === 'all') return true
  return shown === 'open' ? row.hasAttribute('data-open') : row.dataset.state === shown
}
