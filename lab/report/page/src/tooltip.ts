// The exact figures of one point, in a box beside it that is also read out.

/** A text that leads somewhere, while the box is pinned. */
export interface Linked {
  text: string
  href: string
}

/** A text, which may lead somewhere. */
export type Part = string | Linked

/** What the box says: a heading, and terms with their texts. */
export interface Description {
  heading: string
  rows: [string, Part | Part[]][]
}

export class Tooltip {
  readonly element = document.createElement('div')

  constructor() {
    this.element.className = 'tip'
    this.element.setAttribute('role', 'status')
    this.element.hidden = true
  }

  /** Shows the description at that place of the chart; `chartWidth` keeps the box inside. */
  show(description: Description, place: { x: number; y: number }, chartWidth: number, locked: boolean): void {
    this.element.replaceChildren(heading(description.heading, locked), list(description.rows))
    this.element.hidden = false
    this.element.classList.toggle('locked', locked)
    const right = place.x < chartWidth / 2
    const room = this.element.offsetWidth
    const left = right ? place.x + 14 : place.x - room - 14
    this.element.style.left = `${Math.max(0, Math.min(left, chartWidth - room))}px`
    // A long box begins above its point, so that it hides less of what follows the chart.
    const height = this.element.parentElement?.clientHeight ?? 0
    this.element.style.top = `${Math.max(0, Math.min(place.y - 20, height - this.element.offsetHeight))}px`
  }

  hide(): void {
    this.element.hidden = true
    this.element.replaceChildren()
  }
}

function heading(text: string, locked: boolean): HTMLElement {
  const head = document.createElement('p')
  head.className = 'tip-head'
  head.textContent = `${text}${locked ? ' – pinned, Escape closes' : ''}`
  return head
}

function list(rows: Description['rows']): HTMLElement {
  const list = document.createElement('dl')
  for (const [term, text] of rows) {
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')]
    dt.textContent = term
    dd.append(...[text].flat().flatMap((part, index) => [...(index === 0 ? [] : [', ']), typeof part === 'string' ? part : linkTo(part)]))
    list.append(dt, dd)
  }
  return list
}

function linkTo({ text, href }: Linked): HTMLAnchorElement {
  const link = document.createElement('a')
  link.href = href
  link.textContent = text
  return link
}
