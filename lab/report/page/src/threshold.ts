// Steps by a smallest change that the reader chooses: the control, the question, and what is said of the answer.

import type { Answers } from './answers'
import type { StepMark, Timeline } from './model'

/** Percent from an address; nothing if it is none. */
export function percentOf(text: string | null): number | null {
  return text !== null && /^\d{1,3}(\.\d{1,2})?$/.test(text) && Number(text) <= 100 ? Number(text) : null
}

/** The usual smallest change, in percent. */
export function usualOf(timeline: Timeline): number {
  return Number((timeline.least_change * 100).toFixed(2))
}

/** The control. `offered`: what can be chosen, in percent. `take` is told the percentage, or nothing for the usual one. */
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
    this.element.append('Smallest step ', this.select)
    this.select.addEventListener('change', () => take(Number(this.select.value) === this.usual ? null : Number(this.select.value)))
    this.show(chosen)
  }

  show(chosen: number | null): void {
    const now = chosen ?? this.usual
    const all = [...new Set([...this.offered, this.usual, now])].sort((a, b) => a - b)
    const words = (percent: number) => (percent === 0 ? 'any' : `${percent} %`) + (percent === this.usual ? ' (usual)' : '')
    this.select.replaceChildren(...all.map((percent) => new Option(words(percent), String(percent), false, percent === now)))
  }
}

/** Asks for steps. Only the newest question matters. */
export class Steps {
  private asked: AbortController | null = null

  constructor(private readonly answers: Answers) {}

  /** The steps, or why there are none: another question came meanwhile, or there is no answer. */
  async ask(percent: number): Promise<StepMark[] | 'superseded' | 'failed'> {
    const asked = this.stop()
    const answer = await this.answers.steps(percent, asked.signal)
    return asked.signal.aborted ? 'superseded' : (answer ?? 'failed')
  }

  /** Lets go of what was asked. */
  stop(): AbortController {
    this.asked?.abort()
    this.asked = new AbortController()
    return this.asked
  }
}

/** Says what is drawn, while it is not what the rest of the page shows. `none`: why there is no answer. */
export function tellSteps(chosen: number | null, found: StepMark[] | 'searching' | 'failed', timeline: Timeline, none: string): void {
  const told = document.getElementById('threshold')
  if (!told) return
  told.hidden = chosen === null
  if (chosen === null) told.textContent = ''
  else if (found === 'failed') told.textContent = `${none}: steps of at least ${chosen} % are not known. The plot shows those of the usual ${usualOf(timeline)} %.`
  else if (found === 'searching') told.textContent = `Searching for steps of at least ${chosen} % …`
  else {
    told.textContent =
      `The plot shows the steps of at least ${chosen} %: ${found.length}. By the usual ${usualOf(timeline)} % there are ${timeline.steps.length}. ` +
      'States, remarks, the tables, notifications and the other pages belong to those.'
  }
}
