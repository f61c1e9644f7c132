// How a step looks by how certain it is that the program changed: colour, line and class. The words beside it say the same.

import type { StepMark } from './model'

export interface Look {
  colour: string
  /** Dashes of its line; empty for a solid one. */
  dashes: string
  /** Its class in the strip. */
  name: string
}

export function lookOf(step: StepMark): Look {
  if (step.certainty === 'quirk' || step.certainty === 'layout') return { colour: 'var(--muted)', dashes: '1 4', name: 'quirk' }
  if (step.certainty !== 'certain') return { colour: 'var(--partly)', dashes: '6 4', name: 'open' }
  return step.is_better ? { colour: 'var(--good)', dashes: '', name: 'better' } : { colour: 'var(--bad)', dashes: '', name: 'worse' }
}

/** What a step means, how certain it is, and its state if somebody said something of it. */
export function wordsOf(step: StepMark): string {
  return `${step.change}, ${step.what}${step.state === 'found' || step.state === '' ? '' : `, ${step.state}`}`
}
