// Who answers what the page of a history asks: a server over HTTP, or, if the pages are files, files beside them. A browser lets no page that is a file read
// another file, but it runs scripts from there. So these files are scripts, each of which hands over the JSON that the server would have sent.

import type { Beside, BesideSeries, StepMark, StepsFound, Timeline } from './model'

/** Answers are those of the JSON API; nothing if there is none. */
export interface Answers {
  /** A range of the history, in as many buckets as `width` where it has too many commits. */
  timeline(from: number, to: number, width: number, signal: AbortSignal): Promise<Timeline | null>
  /** Other histories, placed on the line of this one. It may be more than the range. */
  beside(ids: string[], from: number, to: number, width: number, signal: AbortSignal): Promise<BesideSeries[] | null>
  /** The steps of at least so many percent. */
  steps(percent: number, signal: AbortSignal): Promise<StepMark[] | null>
  /** Why there is no answer, as the first half of a sentence. */
  readonly none: string
}

/** Who answers for a plot. */
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
  readonly none = 'These pages are files, and none of them has the answer'
  /** What was asked for, by its file. */
  private readonly known = new Map<string, Promise<unknown>>()

  /** `source`: the directory of the history's files. `chunk`: commits in a file of commits; 0 if the page itself has all. */
  constructor(
    private readonly source: string,
    private readonly chunk: number,
  ) {}

  /** The commits of the files that have the range; nothing if they are too many to be drawn one by one. */
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

/** What scripts have handed over. */
const handed = new Map<Element, unknown>()

/** The function that scripts with answers call. */
declare global {
  interface Window {
    faultlineAnswer?: (json: string) => void
  }
}

/** Runs a script with an answer; nothing if it is not there. */
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
