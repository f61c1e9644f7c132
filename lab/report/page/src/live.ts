// Keeps a page up to date while a run goes on: asks the server every few seconds, which sends the page only if it has changed.

/** Pause between two questions. */
const PAUSE_MS = 5000
const LIVE = 'This page shows its results as they come.'

/** Calls `take` with the page each time that it has changed. Does nothing on a page on which nothing goes on. */
export function keepLive(take: (page: Document) => void): void {
  const told = document.querySelector('[data-live] .live-state')
  if (!told) return
  let tag: string | null = null
  const look = async () => {
    if (document.hidden) return
    const answer = await fetch(location.pathname + location.search)
    told.textContent = LIVE
    if (!answer.ok || answer.headers.get('etag') === tag) return
    tag = answer.headers.get('etag')
    take(new DOMParser().parseFromString(await answer.text(), 'text/html'))
  }
  told.textContent = LIVE
  setInterval(() => void look().catch(() => (told.textContent = 'The server does not answer; trying again.')), PAUSE_MS)
}

/** Takes parts of a newer page over, except those in which the reader is at work. Returns those that were taken. */
export function replaceParts(page: Document, ids: string[]): HTMLElement[] {
  return ids.flatMap((id) => {
    const [old, now] = [document.getElementById(id), page.getElementById(id)]
    if (!old || !now || old.contains(document.activeElement) || old.querySelector('details[open]')) return []
    old.replaceWith(now)
    return [now]
  })
}
