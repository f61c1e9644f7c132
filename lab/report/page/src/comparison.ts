// The charts of a comparison: how much better each workload is, for each of them its values, and the scaling of both sides.

import { curvesOf, curvesSheet, describeSide, drawBoth } from './both'
import { cardsOf } from './cards'
import { describeValue, drawDistribution } from './distribution'
import { Explorer } from './explorer'
import { describeRow, drawForest, forestSheet, rowsOf } from './forest'
import { nameOf } from './improvement'
import type { Comparison } from './model'
import { drawOrder } from './order'
import { placesOf, valuesSheet } from './values'

export function showComparison(compared: Comparison): void {
  const forest = document.querySelector<HTMLElement>('.forest .chart')
  const rows = rowsOf(compared)
  if (forest) new Explorer(forest, { draw: (width) => drawForest(rows, width), describe: describeRow, sheet: () => forestSheet(rows), title: `${compared.b.name} against ${compared.a.name}` })
  const both = document.querySelectorAll<HTMLElement>('figure.both .chart')
  for (const [index, curve] of curvesOf(compared.workloads).entries()) {
    if (both[index]) new Explorer(both[index], { draw: (width) => drawBoth(curve, width), describe: describeSide, sheet: () => curvesSheet(curve), title: `${curve[0].name}: scaling` })
  }
  for (const { item: workload, element: card } of cardsOf(compared.workloads)) {
    const [places, name] = [placesOf(workload), nameOf(workload)]
    const describe = (place: (typeof places)[number]) => describeValue(name, workload, place)
    const sheet = () => valuesSheet(workload, places)
    const distribution = card.querySelector<HTMLElement>('.distribution .chart')
    if (distribution) new Explorer(distribution, { draw: (width) => drawDistribution(workload, places, width), describe, sheet, title: `${name}: distribution` })
    const order = card.querySelector<HTMLElement>('.order .chart')
    if (order) new Explorer(order, { draw: (width) => drawOrder(workload, places, width), describe, sheet, title: `${name}: values in order` })
  }
}
