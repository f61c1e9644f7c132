// The run's figures as they stand in the page: what the summary's JSON looks like. Computes nothing.

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
  failures: { text: string }[]
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

/** A line that moved, of a run under the lens. */
export interface LensLine {
  name: string
  address: string
  transfers: number
  share: number
  false_share: number
  by_cpu: { cpu: number; transfers: number }[]
}

export interface LensPoint {
  cpus: number
  transfers: Estimate | null
  instructions: Estimate | null
  rate: Estimate | null
  speedup: number | null
  false_share: number | null
  operations: number | null
  lines: LensLine[]
  failures: { text: string }[]
}

export interface LensCurve {
  workload: string
  variant: string
  operation: string
  points: LensPoint[]
}

export interface Lens {
  curves: LensCurve[]
}

export interface Summary {
  format: string
  run: number
  curves: Curve[]
  /** Of a run under the lens, which has no curves of time. */
  lens?: Lens
}

/** Names a curve within its run. */
export function curveKey(curve: Curve): string {
  return `${curve.workload}:${curve.variant}:${curve.mode}`
}
