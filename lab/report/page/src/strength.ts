// How strong the colour of a count is, and which strengths a legend shows.

import { tick } from './figure'
import type { Entry } from './legend'

/** The weakest colour that a count above 0 has. */
const LEAST = 0.12
/** Steps of the legend above 0. */
const STEPS = 4

/** The colour's strength, by the square root of the count: a tenth of the most still stands out. */
export function strengthOf(count: number, most: number): number {
  return count === 0 ? 0 : LEAST + (1 - LEAST) * Math.sqrt(count / most)
}

/** Counts from 0 to the most, whose colours are about equally far apart. */
export function strengths(most: number): Entry[] {
  const between = Array.from({ length: STEPS - 1 }, (_, step) => Math.round(Number((most * ((step + 1) / STEPS) ** 2).toPrecision(2))))
  return [...new Set([0, ...between, most])].map((count) => ({ words: tick(count, ''), fill: 'var(--accent)', opacity: strengthOf(count, most) }))
}
