// The run's figures as they stand in the page: what the summary's JSON looks like, and reading it. Computes nothing.

export interface Estimate {
  median: number
  low: number
  high: number
  coverage: number
  n: number
}

export interface Point {
  tasks: number
  value: Estimate | null
  speedup: Estimate | null
  efficiency: Estimate | null
  system_share: Estimate | null
  repeats: number[]
  failures: string[]
}

export interface Curve {
  workload: string
  variant: string
  mode: 'process' | 'thread'
  unit: string
  direction: 'higher' | 'lower'
  base_tasks: number | null
  points: Point[]
}

export interface Summary {
  run: number
  curves: Curve[]
}

/** The text of the data as the page carries it. */
export function summaryText(): string {
  return document.getElementById('data')?.textContent ?? ''
}

export function readSummary(): Summary {
  return JSON.parse(summaryText()) as Summary
}

/** Names a curve within its run. */
export function curveKey(curve: Curve): string {
  return `${curve.workload}:${curve.variant}:${curve.mode}`
}
