// What the reader of a run's page has chosen: axes, view, filter, open curve.

import { Kept, type Codec } from './address'
import { isView, type View } from './views'

export interface State {
  log: boolean
  view: View
  /** A workload's name, or nothing for all. */
  filter: string
  /** Name of the curve whose details are open, or nothing. */
  open: string
}

const DEFAULT: State = { log: false, view: 'rate', filter: '', open: '' }

const CODEC: Codec<State> = {
  parse(query) {
    const view = query.get('view') ?? ''
    return {
      log: query.get('log') === '1',
      view: isView(view) ? view : DEFAULT.view,
      filter: query.get('filter') ?? '',
      open: query.get('open') ?? '',
    }
  },
  format(state) {
    const query = new URLSearchParams()
    if (state.log) query.set('log', '1')
    if (state.view !== DEFAULT.view) query.set('view', state.view)
    if (state.filter) query.set('filter', state.filter)
    if (state.open) query.set('open', state.open)
    return query
  },
}

export class Store extends Kept<State> {
  constructor(settled: (state: State) => State) {
    super(CODEC, settled)
  }
}
