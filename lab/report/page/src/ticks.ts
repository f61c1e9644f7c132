// Round values at which an axis has its ticks: a logarithmic one, or one of whole numbers.

const STEPS = [1, 2, 5]

/** About `count` values between the ends: by 1, 2, 5 where the ends are far apart, at equal distances where they are near. */
export function logTicks(low: number, high: number, count: number): number[] {
  const powers = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, index) => 10 ** (Math.floor(Math.log10(low)) + index))
  const inside = (value: number) => value >= low && value <= high
  const decades = powers.filter(inside)
  if (decades.length >= count) return decades
  const fine = powers.flatMap((power) => STEPS.map((step) => step * power)).filter(inside)
  const least = Math.min(3, count)
  return fine.length >= least ? fine : linear(low, high, least)
}

/** At most some `most` whole numbers from one up to another, at the least round distance. */
export function wholeTicks(from: number, to: number, most: number): number[] {
  const least = Math.max(1, (to - from) / most)
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 5, 10].map((step) => step * power).find((step) => step >= least)!
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => (first + index) * step)
}

/** At the greatest round distance that gives at least `least` ticks. */
function linear(low: number, high: number, least: number): number[] {
  const power = 10 ** Math.floor(Math.log10(high - low))
  const steps = [1, 0.1, 0.01].flatMap((part) => STEPS.toReversed().map((step) => step * part * power))
  const ticks = (step: number) => {
    const first = Math.ceil(low / step)
    return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, index) => Number(((first + index) * step).toPrecision(12)))
  }
  return ticks(steps.find((step) => ticks(step).length >= least) ?? steps.at(-1)!)
}
