// Ranges of a history: from what the page has, or by asking where there is more. Only the newest question matters.

import type { Answers } from './answers'
import type { Timeline } from './model'

/** Single values of executions in an answer are left out above this number, as the server does. */
const MOST_VALUES = 20_000
/** Pause before a question, while the reader still drags. */
const PAUSE_MS = 40

export class Ranges {
  /** The newest answer; at first what came with the page. */
  private newest: Timeline
  private asked: AbortController | null = null

  constructor(
    private whole: Timeline,
    private readonly answers: Answers,
  ) {
    this.newest = whole
  }

  /** Takes a newer state of the history over. */
  update(whole: Timeline): void {
    this.whole = whole
    this.newest = whole
  }

  /** What is there of a range, and whether that is all of it. */
  there(from: number, to: number): { timeline: Timeline; isAll: boolean } {
    this.asked?.abort()
    const covering = [this.newest, this.whole].find((one) => one.from <= from && to <= one.to) ?? this.whole
    return { timeline: covering, isAll: isAll(covering, from, to) }
  }

  /** Asks for a range; nothing if another question came meanwhile, or without an answer: what was drawn then stays, which is true, only coarser. */
  async ask(from: number, to: number, width: number): Promise<Timeline | null> {
    const asked = new AbortController()
    this.asked = asked
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    if (asked.signal.aborted) return null
    const answer = await this.answers.timeline(from, to, width, asked.signal)
    if (!answer || asked.signal.aborted) return null
    this.newest = answer
    return answer
  }
}

/** Whether a timeline has each commit of a range, with its values unless they would be too many. */
function isAll(timeline: Timeline, from: number, to: number): boolean {
  if (from < timeline.from || to > timeline.to) return false
  if (timeline.buckets.length > 0) return timeline.from === from && timeline.to === to
  const within = timeline.marks.filter((mark) => mark.position >= from && mark.position <= to)
  const values = within.reduce((sum, mark) => sum + mark.executions, 0)
  return values > MOST_VALUES || within.every((mark) => mark.value === null || mark.values.length > 0)
}
