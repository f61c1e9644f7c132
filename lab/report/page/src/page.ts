// Parts of every page: cards, sorting of tables, printing, and forms for readers with a token.

import type { Case, TaskMode } from './model'

const MODES: Record<TaskMode, string> = { process: 'processes', thread: 'threads' }

/** `zero_fill:base, threads`. */
export function titleOf({ workload, variant, mode }: Case): string {
  return `${workload}:${variant}, ${MODES[mode]}`
}

/** Cards with their items. */
export function cardsOf<T>(items: T[]): { item: T; element: HTMLElement }[] {
  const elements = document.querySelectorAll<HTMLElement>('article.curve')
  return items.map((item, index) => ({ item, element: elements[index] }))
}

/** The key of a card in addresses: its id without the prefix. */
export function keyOf(element: HTMLElement): string {
  return element.id.replace(/^\w+-/, '')
}

export function makeSortable(table: HTMLTableElement): void {
  table.querySelectorAll<HTMLTableCellElement>('thead th').forEach((head, column) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener('click', () => sort(table, head, column))
  })
}

function sort(table: HTMLTableElement, head: HTMLTableCellElement, column: number): void {
  const down = head.getAttribute('aria-sort') === 'ascending'
  table.querySelectorAll('thead th').forEach((other) => other.removeAttribute('aria-sort'))
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
  const body = table.tBodies[0]
  const rows = [...body.rows].map((row) => ({ row, key: sortKey(row.cells[column]) }))
  rows.sort((a, b) => (down ? compare(b.key, a.key) : compare(a.key, b.key)))
  body.append(...rows.map(({ row }) => row))
}

function sortKey(cell: HTMLTableCellElement): number | string {
  const data = cell.querySelector('data')
  if (data) return Number(data.value)
  const text = cell.textContent ?? ''
  return /^\d/.test(text) ? Number.parseFloat(text) : text
}

/** Numbers before texts, texts in alphabetical order. */
function compare(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'number') return -1
  if (typeof b === 'number') return 1
  return a.localeCompare(b)
}

/** Details that are open only for printing. */
export const printed = new Set<HTMLDetailsElement>()

export function wirePrint(): void {
  addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll<HTMLDetailsElement>('details:not([open])')) {
      printed.add(details)
      details.open = true
    }
  })
  addEventListener('afterprint', () => {
    for (const details of printed) details.open = false
  })
}

type Body = Record<string, string | null>

/** Sends JSON. On success calls `then`; otherwise shows the reason in the form. */
export async function post(form: HTMLFormElement, address: string, body: Body, then: (answer: Response) => void): Promise<void> {
  const status = form.querySelector('[role="status"]')!
  const button = form.querySelector('button')!
  button.disabled = true
  status.textContent = 'Saving …'
  try {
    const answer = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    if (answer.ok) return then(answer)
    status.textContent = `Not saved: ${((await answer.json()) as { error: string }).error}.`
  } catch {
    status.textContent = 'Not saved: the server does not answer.'
  }
  button.disabled = false
}

export function wireMarking(part: ParentNode = document): void {
  wire(part, 'form[data-mark]', (form) => {
    const said = new FormData(form)
    const body = { state: String(said.get('state')), reason: String(said.get('reason')) || null }
    return post(form, form.dataset.mark!, body, () => location.reload())
  })
  wire(part, 'form[data-post]', (form) => {
    const body = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
    const { then } = form.dataset
    return post(form, form.dataset.post!, body, () => (then ? location.assign(then) : location.reload()))
  })
}

function wire(part: ParentNode, forms: string, send: (form: HTMLFormElement) => Promise<void>): void {
  for (const form of part.querySelectorAll<HTMLFormElement>(forms)) {
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void send(form)
    })
  }
}
