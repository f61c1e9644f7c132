// Requests of a history's page, to a server over HTTP or to files. A page in a file cannot read
// other files, but can run them as scripts, so answers in files are scripts that pass on JSON.

import type { Beside, BesideSeries, StepMark, StepsFound, Timeline } from './model'

/** Answers of the JSON API; `null` without one. */
export interface Answers {
  /** A range of the history, in about `width` buckets if it has too many commits. */
  timeline(from: number, to: number, width: number, signal: AbortSignal): Promise<Timeline | null>
  /** Other histories, placed on the line of this one. The answer may exceed the range. */
  beside(ids: string[], from: number, to: number, width: number, signal: AbortSignal): Promise<BesideSeries[] | null>
  /** Steps of at least `percent`. */
  steps(percent: number, signal: AbortSignal): Promise<StepMark[] | null>
  /** The reason for a missing answer, as the first half of a sentence. */
  readonly none: string
}

/** The source of answers for a plot. */
export function answersOf(figure: HTMLElement): Answers {
  const { answers = '', chunk } = figure.dataset
  return chunk === undefined ? new Server(answers) : new Files(answers, Number(chunk))
}

class Server implements Answers {
  readonly none = 'The server does not answer'

  /** `source`: the address of the history in the API. */
  constructor(private readonly source: string) {}

  timeline(from: number, to: number, width: number, signal: AbortSignal): Promise<Timeline | null> {
    return this.ask<Timeline>(`timeline?${range(from, to, width)}`, signal)
  }

  async beside(ids: string[], from: number, to: number, width: number, signal: AbortSignal): Promise<BesideSeries[] | null> {
    return (await this.ask<Beside>(`beside?with=${ids.join(',')}&${range(from, to, width)}`, signal))?.series ?? null
  }

  async steps(percent: number, signal: AbortSignal): Promise<StepMark[] | null> {
    return (await this.ask<StepsFound>(`steps?min_change=${percent}`, signal))?.steps ?? null
  }

  private async ask<T>(question: string, signal: AbortSignal): Promise<T | null> {
    try {
      const answer = await fetch(`${this.source}/${question}`, { signal })
      return answer.ok ? ((await answer.json()) as T) : null
    } catch {
      return null
    }
  }
}

function range(from: number, to: number, width: number): string {
  return `from=${from}&to=${to}&width=${Math.max(1, Math.min(4000, width))}`
}

class Files implements Answers {
  readonly none = 'No file of this export has the answer'
  /** Requested files. */
  private readonly known = new Map<string, Promise<unknown>>()

  /**
   * `source`: the directory of the history's files. `chunk`: commits per file; 0 if the page has
   * all.
   */
  constructor(
    private readonly source: string,
    private readonly chunk: number,
  ) {}

  /** Commits from the files of the range; `null` if the range is too long for single commits. */
  async timeline(from: number, to: number): Promise<Timeline | null> {
    if (this.chunk === 0 || to - from >= this.chunk) return null
    const [first, last] = [Math.floor(from / this.chunk), Math.floor(to / this.chunk)]
    const parts = await this.all<Timeline>(first === last ? [`commits/${first}`] : [`commits/${first}`, `commits/${last}`])
    return parts && { ...parts[0], to: parts.at(-1)!.to, marks: parts.flatMap(({ marks }) => marks) }
  }

  async beside(ids: string[]): Promise<BesideSeries[] | null> {
    const parts = await this.all<Beside>(ids.map((id) => `beside/${id}`))
    return parts && parts.flatMap(({ series }) => series)
  }

  async steps(percent: number): Promise<StepMark[] | null> {
    return (await this.all<StepsFound>([`steps/${percent}`]))?.[0].steps ?? null
  }

  private async all<T>(names: string[]): Promise<T[] | null> {
    const read = await Promise.all(names.map((name) => this.read<T>(name)))
    const there = read.filter((one): one is Awaited<T> & T => one !== null)
    return there.length === read.length ? there : null
  }

  private read<T>(name: string): Promise<T | null> {
    const known = this.known.get(name) ?? handedOver(`${this.source}/${name}.js`)
    this.known.set(name, known)
    return known as Promise<T | null>
  }
}

/** JSON from scripts. */
const handed = new Map<Element, unknown>()

/** The function that answer scripts call. */
declare global {
  interface Window {
    faultlineAnswer?: (json: string) => void
  }
}

/** Runs an answer script; `null` if it is missing. */
function handedOver(address: string): Promise<unknown> {
  window.faultlineAnswer ??= (json) => {
    if (document.currentScript) handed.set(document.currentScript, JSON.parse(json))
  }
  const script = document.createElement('script')
  return new Promise((resolve) => {
    const end = () => {
      resolve(handed.get(script) ?? null)
      handed.delete(script)
      script.remove()
    }
    script.addEventListener('load', end)
    script.addEventListener('error', end)
    script.src = address
    document.head.append(script)
  })
}

/** Limit of values per answer; beyond it, the server omits them. */
const MOST_VALUES = 20_000
/** Pause before a request during a drag. */
const PAUSE_MS = 40

/** Requests of which only the newest matters. */
export class Newest {
  private current: AbortController | null = null

  /** Cancels the current request. */
  cancel(): void {
    this.current?.abort()
  }

  /** Replaces the current request. Returns the answer; `null` without one. */
  async ask<T>(question: (signal: AbortSignal) => Promise<T | null>): Promise<T | null | 'superseded'> {
    this.cancel()
    const { signal } = (this.current = new AbortController())
    const answer = await question(signal)
    return signal.aborted ? 'superseded' : answer
  }

  /** Requests after a pause, during which a drag may continue. */
  async soon<T>(question: (signal: AbortSignal) => Promise<T | null>): Promise<T | null> {
    const answer = await this.ask(async (signal) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      return signal.aborted ? null : question(signal)
    })
    return answer === 'superseded' ? null : answer
  }
}

/** Ranges of a history: from the page's data, or from an answer with more details. */
export class Ranges {
  /** The newest answer; initially the data of the page. */
  private newest: Timeline
  private readonly request = new Newest()

  constructor(
    private whole: Timeline,
    private readonly answers: Answers,
  ) {
    this.newest = whole
  }

  /** Replaces the history by a newer state. */
  update(whole: Timeline): void {
    this.whole = whole
    this.newest = whole
  }

  /** The available data of a range, and whether it is complete. */
  there(from: number, to: number): { timeline: Timeline; isAll: boolean } {
    this.request.cancel()
    const covering = [this.newest, this.whole].find((one) => one.from <= from && to <= one.to) ?? this.whole
    return { timeline: covering, isAll: isAll(covering, from, to) }
  }

  /** Requests a range; `null` without an answer, or after a newer request. */
  async ask(from: number, to: number, width: number): Promise<Timeline | null> {
    const answer = await this.request.soon((signal) => this.answers.timeline(from, to, width, signal))
    if (answer) this.newest = answer
    return answer
  }
}

/** True if a timeline has each commit of a range, with values unless they exceed the limit. */
function isAll(timeline: Timeline, from: number, to: number): boolean {
  if (from < timeline.from || to > timeline.to) return false
  if (timeline.buckets.length > 0) return timeline.from === from && timeline.to === to
  const within = timeline.marks.filter((mark) => mark.position >= from && mark.position <= to)
  const values = within.reduce((sum, mark) => sum + mark.executions, 0)
  return values > MOST_VALUES || within.every((mark) => mark.value === null || mark.values.length > 0)
}
