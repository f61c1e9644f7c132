// Numbers, units, axis ticks and shortened texts for people.

const DIGITS = 4
const PREFIXES: [number, string][] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']]
const SECONDS: [number, string][] = [[1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']]
const JOINED = new Set(['s', 'B', 'B/s', 'bit/s', 'Hz'])

export interface Scale {
  divisor: number
  prefix: string
  decimals: number
}

/** `value` with four significant digits: 999.96 becomes 1000. */
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

/** A tick of an axis, with as few digits as possible. */
export function tick(value: number, unit: string): string {
  if (value === 0) return '0'
  const { divisor, prefix } = scaleOf(value, unit)
  const number = String(Number((value / divisor).toPrecision(3)))
  return JOINED.has(unit) ? `${number} ${prefix}${unit}` : `${number}${prefix && ' '}${prefix}`
}

/**
 * Ticks between two values, in the scale of the greater one, with enough decimals to distinguish
 * neighbours.
 */
export function tickBetween(low: number, high: number, unit: string): (value: number) => string {
  const { divisor, prefix } = scaleOf(Math.max(Math.abs(low), Math.abs(high)), unit)
  const step = (high - low) / divisor / 10
  const digits = step > 0 ? Math.min(12, Math.max(0, Math.ceil(-Math.log10(step)))) : DIGITS
  return (value) => {
    const number = String(Number((value / divisor).toFixed(digits)))
    return JOINED.has(unit) ? `${number} ${prefix}${unit}` : `${number}${prefix && ' '}${prefix}`
  }
}

/** Cut at the end. */
export function shortEnd(text: string, letters = 24): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text
}

/** Cut in the middle. */
export function shortMiddle(text: string, letters: number): string {
  if (text.length <= letters) return text
  const end = Math.floor(letters / 3)
  return `${text.slice(0, letters - end - 1)}…${text.slice(text.length - end)}`
}

/** Without control characters, which break lines and are invalid in XML. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\uFFFE\uFFFF]/gu, ' ')
}

const STEPS = [1, 2, 5]

/**
 * About `count` values between the ends: 1, 2 and 5 in each decade, or equidistant values in a
 * short range.
 */
export function logTicks(low: number, high: number, count: number): number[] {
  const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, index) => 10 ** (Math.floor(Math.log10(low)) + index))
  const inside = (value: number) => value >= low && value <= high
  const decades = powers.filter(inside)
  if (decades.length >= count) return decades
  const fine = powers.flatMap((power) => STEPS.map((step) => step * power)).filter(inside)
  const least = Math.min(3, count)
  return fine.length >= least ? fine : linear(low, high, least)
}

/** At most `most` whole numbers, at the smallest round distance. */
export function wholeTicks(from: number, to: number, most: number): number[] {
  const least = Math.max(1, (to - from) / most)
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least)!
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => (first + index) * step)
}

/** At the greatest round distance with at least `least` ticks. */
function linear(low: number, high: number, least: number): number[] {
  const power = 10 ** Math.floor(Math.log10(high - low))
  const steps = [1, 0.1, 0.01].flatMap((part) => STEPS.toReversed().map((step) => step * part * power))
  const ticks = (step: number) => {
    const first = Math.ceil(low / step)
    return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, index) => Number(((first + index) * step).toPrecision(12)))
  }
  return ticks(steps.find((step) => ticks(step).length >= least) ?? steps.at(-1)!)
}
