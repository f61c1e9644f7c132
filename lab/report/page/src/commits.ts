// The table of the commits in the plot, the newest first. A row leads to its commit in the plot, and the pinned commit's row is marked.

import { day, figure, interval, shortName } from './commit'
import type { CommitMark, Timeline } from './model'
import { oneLine, shortEnd } from './shorten'

/** Rows of the table. */
const ROWS = 200
const LETTERS = 90

/** Fills the table with the commits of a range. */
export function fillCommits(timeline: Timeline, from: number, to: number, runs: { before: string; after: string }): void {
  const body = document.querySelector<HTMLTableSectionElement>('#commits tbody')
  const told = document.getElementById('shown')
  if (!body || !told) return
  const within = timeline.marks.filter((mark) => mark.position >= from && mark.position <= to)
  const rows = within.slice(-ROWS).reverse()
  body.replaceChildren(...rows.map((mark) => row(timeline, mark, runs)))
  told.textContent = within.length === 0
    ? 'There are too many commits here to list them: choose a shorter range.'
    : `The newest ${rows.length} of ${within.length} commits in the plot.`
}

function row(timeline: Timeline, mark: CommitMark, runs: { before: string; after: string }): HTMLTableRowElement {
  const row = document.createElement('tr')
  row.dataset.position = String(mark.position)
  const head = document.createElement('th')
  head.scope = 'row'
  const code = document.createElement('code')
  code.textContent = shortName(mark.commit)
  head.append(link(`#${new URLSearchParams({ at: mark.commit })}`, code))
  const run = mark.run === null ? '–' : link(`${runs.before}${mark.run}${runs.after}`, String(mark.run))
  row.append(
    head,
    cell(day(mark.committed_s)),
    cell(mark.value ? figure(timeline, mark.value.median) : mark.why || '–', true),
    cell(interval(timeline, mark) || '–'),
    cell(mark.value ? String(mark.value.n) : '–', true),
    cell(run, true),
    cell(shortEnd(oneLine(mark.author), LETTERS)),
    cell(shortEnd(oneLine(mark.subject), LETTERS)),
  )
  return row
}

function cell(content: string | Node, isNumber = false): HTMLTableCellElement {
  const cell = document.createElement('td')
  if (isNumber) cell.className = 'number'
  cell.append(content)
  return cell
}

function link(href: string, content: string | Node): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = href
  link.append(content)
  return link
}

/** Marks the row of a commit, and no other. */
export function markRow(position: number | null): void {
  for (const row of document.querySelectorAll<HTMLTableRowElement>('#commits tbody tr')) {
    const isIt = position !== null && row.dataset.position === String(position)
    row.classList.toggle('pinned', isIt)
    if (isIt) row.setAttribute('aria-current', 'true')
    else row.removeAttribute('aria-current')
  }
}
