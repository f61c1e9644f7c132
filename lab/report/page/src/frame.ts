// What all charts share: their letters, and that readers of the page hear its words and not its shapes.

import type * as Plot from '@observablehq/plot'

export const STYLE = { background: 'none', fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' }

export type Drawn = SVGSVGElement & Plot.Plot

/** Takes a drawing out of what is read out and reached by keyboard: the chart around it speaks for it. */
export function silent(plot: Element): Drawn {
  plot.setAttribute('aria-hidden', 'true')
  plot.setAttribute('focusable', 'false')
  return plot as Drawn
}
