// How much better each workload of a comparison is, and how that reads: its answer, its name.

import type { Bounded, Comparison, ComparedWorkload, Inconclusive, RunSummary } from './model'

export function isCompared(data: RunSummary | Comparison): data is Comparison {
  return data.format.startsWith('faultline-comparison/')
}

/** Why a workload may be inconclusive and its ratio worth showing all the same. */
const WITH_ESTIMATE: (Inconclusive | null)[] = [null, 'not-interleaved', 'past-margin']

/** How many times better the second side is: above 1 it is better. Nothing where its ratio isn't worth showing. */
export function improvementOf(workload: ComparedWorkload): Bounded | null {
  const ratio = workload.ratio
  if (!ratio || !WITH_ESTIMATE.includes(workload.inconclusive)) return null
  if (workload.direction === 'higher') return ratio
  return { value: 1 / ratio.value, low: 1 / ratio.high, high: 1 / ratio.low, level: ratio.level }
}

/** The answer in words: `equal within ±2 %`. */
export function answerOf(workload: ComparedWorkload): string {
  return workload.answer === 'equal' ? `equal within ±${Number((workload.margin * 100).toFixed(2))} %` : workload.answer
}

/** `zero_fill:base at 4`. */
export function nameOf(workload: ComparedWorkload): string {
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
