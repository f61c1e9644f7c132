// Names for the curves of a run.

import type { Curve } from './model'

/** Names a curve within its run. */
export function curveKey(curve: Curve): string {
  return `${curve.workload}:${curve.variant}:${curve.mode}`
}
