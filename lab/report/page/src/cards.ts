// The cards of a page: one for each curve or workload, in the order of the data, each with its name in addresses.

import type { Case, TaskMode } from './model'

const MODES: Record<TaskMode, string> = { process: 'processes', thread: 'threads' }

/** `zero_fill:base, threads`. */
export function titleOf({ workload, variant, mode }: Case): string {
  return `${workload}:${variant}, ${MODES[mode]}`
}

/** The cards of the data's items. */
export function cardsOf<T>(items: T[]): { item: T; element: HTMLElement }[] {
  const elements = document.querySelectorAll<HTMLElement>('article.curve')
  return items.map((item, index) => ({ item, element: elements[index] }))
}

/** What names a card in the state of the address: its id without the word before it. */
export function keyOf(element: HTMLElement): string {
  return element.id.replace(/^\w+-/, '')
}
