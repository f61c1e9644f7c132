// What is new in the overview since this browser's last visit. Only the browser keeps it.

const KEY = 'faultline-seen'

/** What was seen of a history: the first commit of its last step, and how many commits had values. */
interface Seen {
  step: string
  measured: number
}

/** Marks what is new, and remembers what is there now. What it returns does the same for a newer list, against the same visit. */
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
  if (before) tell(news)
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

/** Says below the heading how many histories have something new. */
function tell(news: number): void {
  const told = document.createElement('p')
  told.className = 'hint'
  told.id = 'news'
  told.textContent = news === 0 ? 'Nothing new since your last visit with this browser.' : `${news} ${news === 1 ? 'history has' : 'histories have'} something new since your last visit with this browser.`
  document.getElementById('histories-title')?.after(told)
}

/** What was seen at the last visit; nothing at the first, or where the browser keeps nothing. */
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
    // A browser that keeps nothing shows all as seen for the first time.
  }
}
