// What the reader of a history's page has chosen, as the address has it.

import type { Codec } from './address'
import { percentOf } from './threshold'
import type { Across } from './timeline'

export interface Choice {
  /** First and last position; nothing for all. */
  from: number | null
  to: number | null
  across: Across
  log: boolean
  /** Whether values are in relation to the first of their history. */
  relative: boolean
  /** The smallest change that is a step, in percent; nothing for the usual one. */
  least: number | null
  /** Identifiers of the histories that are drawn with this one. */
  others: string[]
  /** The commit whose figures are pinned, or nothing. */
  at: string
  /** The commit that others are compared with, or nothing. */
  side: string
  /** The history among the others that it belongs to; nothing for this one. */
  of: string
}

const position = (text: string | null) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null)

export const CODEC: Codec<Choice> = {
  parse(query) {
    const across = query.get('x') === 'date' ? 'date' : 'order'
    const others = (query.get('with') ?? '').split(',').filter((id) => id !== '')
    return {
      from: position(query.get('from')), to: position(query.get('to')), across, log: query.get('log') === '1', relative: query.get('y') === 'relative',
      least: percentOf(query.get('min')), others: [...new Set(others)], at: query.get('at') ?? '', side: query.get('a') ?? '', of: query.get('of') ?? '',
    }
  },
  format(state) {
    const query = new URLSearchParams()
    if (state.from !== null) query.set('from', String(state.from))
    if (state.to !== null) query.set('to', String(state.to))
    if (state.across !== 'order') query.set('x', state.across)
    if (state.log) query.set('log', '1')
    if (state.relative) query.set('y', 'relative')
    if (state.least !== null) query.set('min', String(state.least))
    if (state.others.length > 0) query.set('with', state.others.join(','))
    if (state.at) query.set('at', state.at)
    if (state.side) query.set('a', state.side)
    if (state.at && state.of) query.set('of', state.of)
    return query
  },
}
