// Keeps a page up to date: asks the server every few seconds, which sends the page only if it has changed. While no run goes on it asks less often whether one has begun.

/** Pause between two questions while a run goes on, and while none does. */
const PAUSES_MS = { on: 5000, off: 15_000 }
const LIVE = 'This page shows its results as they come.'
const SILENT = 'The server does not answer; trying again.'

/** Calls `take` with the page each time that it has changed. Does nothing on a page that is a file. */
export function keepLive(take: (page: Document) => void): void {
  const line = document.querySelector<HTMLElement>('[data-live]')
  if (!line) return
  let tag: string | null = null
  const look = async () => {
    const answer = await fetch(location.pathname + location.search)
    if (!answer.ok) return tell(line, `The server answers with status ${answer.status}; trying again.`)
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

/** The line of a newer page in place of this page's. */
function takeLine(line: HTMLElement, page: Document): void {
  const now = page.querySelector<HTMLElement>('[data-live]')
  if (!now || now.dataset.live === line.dataset.live) return
  line.dataset.live = now.dataset.live
  line.replaceChildren(...now.childNodes)
}

/** Says how up to date the page is. Without a run that goes on, only trouble is worth a word. */
function tell(line: HTMLElement, words: string): void {
  const told = line.querySelector('.live-state')
  const text = words === LIVE && line.dataset.live === 'off' ? '' : words
  if (told) told.textContent = text
  else if (line.textContent !== text) line.textContent = text
}

/** Takes parts of a newer page over, except those in which the reader is at work. Returns those that were taken. */
export function replaceParts(page: Document, ids: string[]): HTMLElement[] {
  return ids.flatMap((id) => {
    const [old, now] = [document.getElementById(id), page.getElementById(id)]
    if (!old || !now || old.contains(document.activeElement) || old.querySelector('details[open]')) return []
    keepChosen(old, now)
    old.replaceWith(now)
    return [now]
  })
}

/** What the reader has chosen in a part stays chosen. */
function keepChosen(old: HTMLElement, now: HTMLElement): void {
  const inputs = [...now.querySelectorAll('input')]
  for (const { name, value } of old.querySelectorAll<HTMLInputElement>('input:checked')) {
    const same = inputs.find((input) => input.name === name && input.value === value)
    if (same) same.checked = true
  }
}
