// A comparison as it stands in the page: what its JSON looks like, and the improvements that its ratios say.

import type { Estimate, Summary } from './summary'

export interface Bounded {
  value: number
  low: number
  high: number
  level: number
}

export interface Side {
  units: number
  median: number
}

export type Answer = 'faster' | 'slower' | 'no-difference' | 'undecided'

export interface Workload {
  name: string
  unit: string
  direction: 'higher' | 'lower'
  a: Side
  b: Side
  independent: 'boot' | 'run'
  answer: Answer
  p_corrected: number | null
  ratio: Bounded | null
  detectable: number | null
  tasks: number | null
  /** The first side's values, then the second's, in the order of their measurement. */
  values: [number[], number[]]
  system_share: [Estimate | null, Estimate | null]
}

export interface Compared {
  format: string
  workloads: Workload[]
  improvement: Bounded | null
}

export function isCompared(data: Summary | Compared): data is Compared {
  return data.format.startsWith('faultline-comparison/')
}

/** How many times better the second side is: above 1 it is better. Nothing where it is undecided: whatever its ratio, it is no finding. */
export function improvementOf(workload: Workload): Bounded | null {
  const ratio = workload.ratio
  if (!ratio || workload.answer === 'undecided') return null
  if (workload.direction === 'higher') return ratio
  return { value: 1 / ratio.value, low: 1 / ratio.high, high: 1 / ratio.low, level: ratio.level }
}

export const ANSWERS: Record<Answer, string> = { faster: 'faster', slower: 'slower', 'no-difference': 'no difference', undecided: 'undecided' }

/** `zero_fill:base at 4`. */
export function nameOf(workload: Workload): string {
  return workload.tasks ? `${workload.name} at ${workload.tasks}` : workload.name
}

/** An improvement as a percentage with its sign: `+12.3 %`; of one whose interval reaches no end, `∞`. */
export function change(ratio: number): string {
  const percent = (ratio - 1) * 100
  if (!Number.isFinite(percent)) return '∞'
  const size = Math.abs(percent).toFixed(Math.abs(percent) < 1 ? 2 : Math.abs(percent) < 100 ? 1 : 0)
  if (Number(size) === 0) return '0 %'
  return `${percent < 0 ? '−' : '+'}${size} %`
}
