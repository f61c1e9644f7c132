// Tables that can be sorted by a click on a heading. What a cell is sorted by stands in its `data` element, else in its text.

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
  const rows = [...body.rows].map((row) => ({ row, key: keyOf(row.cells[column]) }))
  rows.sort((a, b) => (down ? compare(b.key, a.key) : compare(a.key, b.key)))
  body.append(...rows.map(({ row }) => row))
}

function keyOf(cell: HTMLTableCellElement): number | string {
  const data = cell.querySelector('data')
  if (data) return Number(data.value)
  const text = cell.textContent ?? ''
  return /^\d/.test(text) ? Number.parseFloat(text) : text
}

/** Numbers before words, words by the alphabet. */
function compare(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'number') return -1
  if (typeof b === 'number') return 1
  return a.localeCompare(b)
}
