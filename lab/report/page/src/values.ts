// The single values of a comparison, with their side and their place in time; and how the sides look in every chart.

import type { ComparedWorkload } from './model'

export type Letter = 'A' | 'B'

/** One independent value. */
export interface Place {
  side: Letter
  /** Its number in the order of its side, from 1. */
  order: number
  value: number
}

export const LETTERS: Letter[] = ['A', 'B']

/** Colour, shape and line of each side: no two alike in any of them. */
export const LOOKS: Record<Letter, { colour: string; symbol: 'circle' | 'diamond'; dashes: string }> = {
  A: { colour: 'var(--side-a)', symbol: 'circle', dashes: '5 3' },
  B: { colour: 'var(--side-b)', symbol: 'diamond', dashes: '' },
}

export function placesOf({ values: sides }: ComparedWorkload): Place[] {
  return LETTERS.flatMap((side, index) =>
    sides[index].map((value, order) => ({ side, order: order + 1, value })).filter(({ value }) => Number.isFinite(value)),
  )
}

/** Lowest and highest value, with room beside them. */
export function reachOf(places: Place[]): [number, number] {
  const values = places.map(({ value }) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const room = (high - low || Math.abs(high) * 0.02 || 1) * 0.06
  return [low - room, high + room]
}
