// The single values of a comparison, with their side and their place in time; and how the sides look in every chart.

import type { Sheet } from './csv'
import type { ComparedWorkload, Side } from './model'

export type Letter = 'A' | 'B'

/** One independent value. */
export interface Place {
  side: Letter
  /** Its number in the order of its side, from 1. */
  order: number
  value: number
}

interface SideOf {
  figures(workload: ComparedWorkload): Side
  values(workload: ComparedWorkload): number[]
  /** Colour, shape and line: no two sides are alike in any of them. */
  colour: string
  symbol: 'circle' | 'diamond'
  dashes: string
}

export const SIDES: Record<Letter, SideOf> = {
  A: { figures: ({ a }) => a, values: ({ values }) => values[0], colour: 'var(--side-a)', symbol: 'circle', dashes: '5 3' },
  B: { figures: ({ b }) => b, values: ({ values }) => values[1], colour: 'var(--side-b)', symbol: 'diamond', dashes: '' },
}

export const LETTERS = Object.keys(SIDES) as Letter[]

export function placesOf(workload: ComparedWorkload): Place[] {
  return LETTERS.flatMap((side) =>
    SIDES[side]
      .values(workload)
      .map((value, order) => ({ side, order: order + 1, value }))
      .filter(({ value }) => Number.isFinite(value)),
  )
}

/** Lowest and highest value, with room beside them. */
export function reachOf(places: Place[]): [number, number] {
  const values = places.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const room = (high - low || Math.abs(high) * 0.02 || 1) * 0.06
  return [low - room, high + room]
}

/** A row for each value. */
export function valuesSheet(workload: ComparedWorkload, places: Place[]): Sheet {
  return { head: ['side', 'in order', `value (${workload.unit})`], rows: places.map(({ side, order, value }) => [side, order, value]) }
}
