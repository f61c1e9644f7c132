// The work list of changes: which states are listed. The address holds the choice.

import { Kept, type Codec } from './address'
import { check, choice } from './toolbar'

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
  const told = document.createElement('p')
  told.className = 'count'
  told.setAttribute('role', 'status')
  const states = choice('State', 'state', SHOWN, kept.state.shown, (shown) => kept.set({ shown: shown as Shown }))
  bar.append(states, told)
  bar.hidden = false
  const filter = ({ shown }: State) => {
    for (const row of rows) row.hidden = !isShown(row, shown)
    told.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} changes`
    check(states, shown)
  }
  kept.listen(filter)
  filter(kept.state)
}

function isShown(row: HTMLTableRowElement, shown: Shown): boolean {
  if (shown === 'all') return true
  return shown === 'open' ? row.hasAttribute('data-open') : row.dataset.state === shown
}
