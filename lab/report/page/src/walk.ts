// Where arrow keys lead in a plot of several histories.

import type { Arrow } from './explorer'
import type { Spot } from './timeline'

/** Left and right lead along a history, up and down to the nearest spot of the one before or after it in the legend. */
export function neighbour(spots: Spot[], index: number, arrow: Arrow): number {
  const at = spots[index]
  const isOf = (series: number) => (spot: Spot) => spot.series === series
  if (arrow === 'ArrowRight') {
    const next = spots.findIndex((spot, place) => place > index && spot.series === at.series)
    return next < 0 ? index : next
  }
  if (arrow === 'ArrowLeft') {
    const before = spots.findLastIndex((spot, place) => place < index && spot.series === at.series)
    return before < 0 ? index : before
  }
  const by = arrow === 'ArrowUp' ? -1 : 1
  const last = Math.max(...spots.map((spot) => spot.series))
  for (let series = at.series + by; series >= 0 && series <= last; series += by) {
    const there = spots.filter(isOf(series))
    if (there.length > 0) return spots.indexOf(there.reduce((nearest, spot) => (Math.abs(spot.x - at.x) < Math.abs(nearest.x - at.x) ? spot : nearest)))
  }
  return index
}
