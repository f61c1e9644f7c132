// What names a curve within its run, as the address has it.

import type { Curve } from './model'

/** Names a curve within its run. */
export function curveKey(curve: Curve): string {
  return `${curve.workload}:${curve.variant}:${curve.mode}`
}
