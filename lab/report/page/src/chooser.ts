// The control that chooses which histories are drawn together, and the legend that tells them apart.

import { MOST_BESIDE } from './beside'
import { lookOfSeries, sampleOf } from './looks'
import type { BesideSeries, Timeline } from './model'
import { shortEnd } from './shorten'

/** Letters of a history's name. */
const LETTERS = 70

export class Chooser {
  readonly element = document.createElement('details')
  private readonly summary = document.createElement('summary')
  private readonly boxes: HTMLInputElement[]

  /** `take` is told the identifiers that are chosen, in the order in which they were. */
  constructor(
    timeline: Timeline,
    private chosen: string[],
    take: (chosen: string[]) => void,
  ) {
    this.element.className = 'chooser'
    const list = document.createElement('div')
    list.className = 'chooser-list'
    list.setAttribute('role', 'group')
    list.setAttribute('aria-label', 'Histories that are drawn with this one')
    this.boxes = timeline.related.map(({ id, name, unit }) => {
      const box = document.createElement('input')
      Object.assign(box, { type: 'checkbox', value: id })
      box.addEventListener('change', () => take(box.checked ? [...this.chosen, id] : this.chosen.filter((one) => one !== id)))
      const label = document.createElement('label')
      label.append(box, ` ${shortEnd(name, LETTERS)}${unit === timeline.unit ? '' : ` (${unit})`}`)
      list.append(label)
      return box
    })
    this.element.append(this.summary, list)
    this.show(chosen)
  }

  show(chosen: string[]): void {
    this.chosen = chosen
    this.summary.textContent = chosen.length === 0 ? 'Draw with others' : `Draw with others (${chosen.length})`
    for (const box of this.boxes) {
      box.checked = chosen.includes(box.value)
      box.disabled = !box.checked && chosen.length >= MOST_BESIDE
    }
  }
}

/** Fills the legend: a line for each history in the plot; nothing if there is only one. `page`: the address of a history's page. */
export function fillLegend(list: HTMLElement, timeline: Timeline, others: BesideSeries[], relative: boolean, page: (id: string) => string): void {
  list.hidden = others.length === 0
  list.replaceChildren(...(others.length === 0 ? [] : [timeline, ...others].map((one, number) => entry(one, number, relative, page))))
}

function entry(one: Timeline | BesideSeries, number: number, relative: boolean, page: (id: string) => string): HTMLLIElement {
  const item = document.createElement('li')
  const name = document.createElement(number === 0 ? 'span' : 'a')
  name.textContent = shortEnd(one.name, LETTERS)
  if (name instanceof HTMLAnchorElement) name.href = page(one.id)
  const told = [`in ${one.unit}`]
  if (number === 0) told.push('steps and quirks are those of this one')
  if ('outside' in one && one.outside > 0) told.push(`${one.outside} of its commits have no place on this line`)
  if ('outside' in one && one.marks.length + one.buckets.length === 0) told.push('no result in this range')
  if (relative && one.base === null) told.push('not drawn: it has no first value to refer to')
  item.append(sampleOf(lookOfSeries(number)), ` ${number + 1} `, name, ` – ${told.join('; ')}`)
  return item
}
