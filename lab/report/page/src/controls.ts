// Controls above plots: radio buttons, minimum change of a step, and choice of histories.

import { MOST_BESIDE } from './beside'
import { shortEnd } from './figure'
import type { StepMark, Timeline } from './model'

/** A group of radio buttons. */
export function choice(legend: string, name: string, options: Record<string, string>, chosen: string, take: (value: string) => void): HTMLElement {
  const group = document.createElement('fieldset')
  group.className = 'choice'
  const title = document.createElement('legend')
  title.textContent = legend
  group.append(title)
  for (const [value, text] of Object.entries(options)) {
    const label = document.createElement('label')
    const input = document.createElement('input')
    Object.assign(input, { type: 'radio', name, value, checked: value === chosen })
    input.addEventListener('change', () => take(value))
    const words = document.createElement('span')
    words.textContent = text
    label.append(input, words)
    group.append(label)
  }
  return group
}

/** Selects an option of a group. */
export function check(group: HTMLElement, value: string): void {
  for (const input of group.querySelectorAll('input')) input.checked = input.value === value
}

/** A button. `name`: for screen readers if it differs from the sign. */
export function button(sign: string, name: string, act: () => void): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = sign
  if (sign !== name) button.setAttribute('aria-label', name)
  button.title = name
  button.addEventListener('click', act)
  return button
}

/** A percentage from an address; `null` if it is invalid. */
export function percentOf(text: string | null): number | null {
  return text !== null && /^\d{1,3}(\.\d{1,2})?$/.test(text) && Number(text) <= 100 ? Number(text) : null
}

/** The default minimum change, in percent. */
export function usualOf(timeline: Timeline): number {
  return Number((timeline.least_change * 100).toFixed(2))
}

/**
 * The control. `offered`: choices in percent. `take` receives the percentage, or `null` for the
 * default.
 */
export class ThresholdControl {
  readonly element = document.createElement('label')
  private readonly select = document.createElement('select')

  constructor(
    private readonly offered: number[],
    private readonly usual: number,
    chosen: number | null,
    take: (percent: number | null) => void,
  ) {
    this.element.className = 'filter'
    this.element.append('Minimum step ', this.select)
    this.select.addEventListener('change', () => take(Number(this.select.value) === this.usual ? null : Number(this.select.value)))
    this.show(chosen)
  }

  show(chosen: number | null): void {
    const now = chosen ?? this.usual
    const all = [...new Set([...this.offered, this.usual, now])].sort((a, b) => a - b)
    const words = (percent: number) => (percent === 0 ? 'any' : `${percent} %`) + (percent === this.usual ? ' (default)' : '')
    this.select.replaceChildren(...all.map((percent) => new Option(words(percent), String(percent), false, percent === now)))
  }
}

/**
 * States the drawn steps if they differ from those of the page. `none`: the reason for a missing
 * answer.
 */
export function tellSteps(chosen: number | null, found: StepMark[] | 'searching' | 'failed', timeline: Timeline, none: string): void {
  const status = document.getElementById('threshold')
  if (!status) return
  status.hidden = chosen === null
  if (chosen === null) status.textContent = ''
  else if (found === 'failed') status.textContent = `${none}: steps of at least ${chosen} % are unknown. The plot has those of at least ${usualOf(timeline)} %, the default.`
  else if (found === 'searching') status.textContent = `Searching for steps of at least ${chosen} % …`
  else {
    status.textContent =
      `Steps of at least ${chosen} % in the plot: ${found.length}. At the default of ${usualOf(timeline)} %: ${timeline.steps.length}. ` +
      'States, remarks, tables, notifications and other pages refer to the default.'
  }
}

/** Characters of a history's name. */
export const NAME_LETTERS = 70

export class Chooser {
  readonly element = document.createElement('details')
  private readonly summary = document.createElement('summary')
  private readonly boxes: HTMLInputElement[]

  /** `take` receives the chosen identifiers, in order of choice. */
  constructor(
    timeline: Timeline,
    private chosen: string[],
    take: (chosen: string[]) => void,
  ) {
    this.element.className = 'chooser'
    const list = document.createElement('div')
    list.className = 'chooser-list'
    list.setAttribute('role', 'group')
    list.setAttribute('aria-label', 'Further histories')
    this.boxes = timeline.related.map(({ id, name, unit }) => {
      const box = document.createElement('input')
      Object.assign(box, { type: 'checkbox', value: id })
      box.addEventListener('change', () => take(box.checked ? [...this.chosen, id] : this.chosen.filter((one) => one !== id)))
      const label = document.createElement('label')
      label.append(box, ` ${shortEnd(name, NAME_LETTERS)}${unit === timeline.unit ? '' : ` (${unit})`}`)
      list.append(label)
      return box
    })
    this.element.append(this.summary, list)
    this.show(chosen)
  }

  show(chosen: string[]): void {
    this.chosen = chosen
    this.summary.textContent = chosen.length === 0 ? 'Add histories' : `Add histories (${chosen.length})`
    for (const box of this.boxes) {
      box.checked = chosen.includes(box.value)
      box.disabled = !box.checked && chosen.length >= MOST_BESIDE
    }
  }
}
