// The charts of a run under the lens: transfers per operation by number of CPUs, and the map of lines and CPUs.

import { cardsOf, titleOf } from './cards'
import { Explorer } from './explorer'
import { drawGrowth, describeGrowth, growthSheet } from './growth'
import { drawMap, describeField, fieldsOf, mapSheet } from './map'
import type { LensCurve, LensSummary } from './model'

export function exploreLens(lens: LensSummary): void {
  for (const { item: curve, element } of cardsOf(lens.curves)) {
    const chart = element.querySelector<HTMLElement>('.scaling .chart')
    if (chart) {
      new Explorer(chart, {
        draw: (width) => drawGrowth(curve, width),
        describe: (point) => describeGrowth(curve, point),
        sheet: () => growthSheet(curve),
        title: `${titleOf(curve)}: transfers by number of CPUs`,
      })
    }
    const map = element.querySelector<HTMLElement>('.heat .chart')
    if (map) exploreMap(curve, map)
  }
}

function exploreMap(curve: LensCurve, map: HTMLElement): void {
  const point = curve.points.find((point) => point.cpus === Number(map.dataset.cpus))
  if (!point) return
  const fields = fieldsOf(point)
  new Explorer(map, {
    draw: (width) => drawMap(point, fields, width),
    describe: (field) => describeField(point, curve.operation, field),
    sheet: () => mapSheet(point, curve.operation, fields),
    title: `${titleOf(curve)}: lines and CPUs at ${point.cpus} CPUs`,
  })
}
