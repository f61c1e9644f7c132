// Numbers in words, as the tables beside the figures have them: four significant digits, SI prefixes, units.

const DIGITS = 4
const PREFIXES: [number, string][] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']]
const SECONDS: [number, string][] = [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']]
const JOINED = new Set(['s', 'B', 'B/s', 'bit/s', 'Hz'])

export interface Scale {
  divisor: number
  prefix: string
  decimals: number
}

/** `value` as it reads with four significant digits: 999.96 reads 1000. */
function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS))
}

function decimals(value: number): number {
  if (!Number.isFinite(value) || value === 0) return 0
  return Math.max(0, DIGITS - 1 - Math.floor(Math.log10(Math.abs(rounded(value)))))
}

/** The scale in which `value` has four significant digits. */
export function scaleOf(value: number, unit: string): Scale {
  const size = rounded(Math.abs(value))
  const steps = unit === 's' ? SECONDS : PREFIXES
  const [divisor, prefix] = steps.find(([step]) => size >= step) ?? (unit === 's' && size > 0 ? SECONDS[3] : [1, ''])
  return { divisor, prefix, decimals: decimals(value / divisor) }
}

export function withUnit(number: string, scale: Scale, unit: string): string {
  if (!unit) return `${number} ${scale.prefix}`.trim()
  return JOINED.has(unit) ? `${number} ${scale.prefix}${unit}` : `${number} ${scale.prefix} ${unit}`.replace('  ', ' ')
}

export function quantity(value: number, unit: string): string {
  const scale = scaleOf(value, unit)
  return withUnit((value / scale.divisor).toFixed(scale.decimals), scale, unit)
}

/** Both ends in the scale of `median`: `42.69 … 43.55 k exec/s`. */
export function span(low: number, high: number, median: number, unit: string): string {
  const scale = scaleOf(median, unit)
  const show = (value: number) => (value / scale.divisor).toFixed(scale.decimals)
  return withUnit(`${show(low)} … ${show(high)}`, scale, unit)
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** A tick of an axis: as few digits as it needs. */
export function tick(value: number, unit: string): string {
  if (value === 0) return '0'
  const { divisor, prefix } = scaleOf(value, unit)
  const number = String(Number((value / divisor).toPrecision(3)))
  return JOINED.has(unit) ? `${number} ${prefix}${unit}` : `${number}${prefix && ' '}${prefix}`
}

/** Ticks between two values: all in the scale of the greater one, with the decimals that tell neighbours apart. */
export function tickBetween(low: number, high: number, unit: string): (value: number) => string {
  const { divisor, prefix } = scaleOf(Math.max(Math.abs(low), Math.abs(high)), unit)
  const step = (high - low) / divisor / 10
  const digits = step > 0 ? Math.min(12, Math.max(0, Math.ceil(-Math.log10(step)))) : DIGITS
  return (value) => {
    const number = String(Number((value / divisor).toFixed(digits)))
    return JOINED.has(unit) ? `${number} ${prefix}${unit}` : `${number}${prefix && ' '}${prefix}`
  }
}
