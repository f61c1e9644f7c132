// The charts of a run under the lens: transfers per operation by number of CPUs, and the map of lines and CPUs.

import { cardsOf } from './cards'
import { Explorer } from './explorer'
import { drawGrowth, describeGrowth } from './growth'
import { drawMap, describeField, fieldsOf } from './map'
import type { LensCurve, LensSummary } from './model'

export function exploreLens(lens: LensSummary): void {
  for (const { item: curve, element } of cardsOf(lens.curves)) {
    const chart = element.querySelector<HTMLElement>('.scaling .chart')
    if (chart) new Explorer(chart, { draw: (width) => drawGrowth(curve, width), describe: (point) => describeGrowth(curve, point) })
    const map = element.querySelector<HTMLElement>('.heat .chart')
    if (map) exploreMap(curve, map)
  }
}

function exploreMap(curve: LensCurve, map: HTMLElement): void {
  const point = curve.points.find((point) => point.cpus === Number(map.dataset.cpus))
  if (!point) return
  const fields = fieldsOf(point)
  new Explorer(map, { draw: (width) => drawMap(point, fields, width), describe: (field) => describeField(point, curve.operation, field) })
}
