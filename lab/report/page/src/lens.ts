// The charts of a run under the lens: transfers per operation by number of CPUs, the map of lines and CPUs, and the flame graph of callers.

import { cardsOf, titleOf } from './cards'
import { Explorer } from './explorer'
import { boxesOf, describeBox, drawFlame, flameSheet } from './flame'
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
    const flame = element.querySelector<HTMLElement>('.callers .chart')
    if (flame) exploreFlame(curve, flame)
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

function exploreFlame(curve: LensCurve, flame: HTMLElement): void {
  const point = curve.points.find((point) => point.cpus === Number(flame.dataset.cpus))
  const callers = point?.callers
  if (!point || !callers) return
  const boxes = boxesOf(callers)
  new Explorer(flame, {
    draw: (width) => drawFlame(callers, boxes, width),
    describe: (box) => describeBox(callers, point, curve.operation, box),
    sheet: () => flameSheet(callers),
    title: `${titleOf(curve)}: callers at ${point.cpus} CPUs`,
  })
}
