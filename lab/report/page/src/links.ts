// Links within the page: they move sight and focus and leave the hash to the state. Also the download of the data.

import { dataText } from './data'

/** Shows what a choice of the reader's hides: the part of the page that a link leads to. */
export type Unhide = (target: HTMLElement) => void

/** Lets links, and addresses that name a part of the page, lead there, whatever hides it. */
export function wireLinks(unhide: Unhide): void {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]')
    const target = link && targetOf(link.hash)
    if (!target) return
    event.preventDefault()
    reveal(target, unhide)
  })
  const arrive = () => {
    const target = targetOf(location.hash)
    if (target) reveal(target, unhide)
  }
  addEventListener('hashchange', arrive)
  arrive()
}

/** The part of the page that a hash names; the hash of a state names none. */
export function targetOf(hash: string): HTMLElement | null {
  return document.getElementById(hash.slice(1))
}

/** Brings an element into sight, out of all that is folded or hidden around it. */
function reveal(target: HTMLElement, unhide: Unhide): void {
  for (let folded = target.closest('details'); folded; folded = folded.parentElement?.closest('details') ?? null) folded.open = true
  unhide(target)
  goTo(target)
}

/** Brings an element into sight and the focus to it. */
export function goTo(target: HTMLElement): void {
  if (!target.hasAttribute('tabindex')) target.tabIndex = -1
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  target.focus({ preventScroll: true })
  target.scrollIntoView({ behavior: still ? 'auto' : 'smooth', block: 'start' })
}

/** Lets the link with that id save the very text that the page carries. */
export function wireDownload(name: string): void {
  const link = document.getElementById('download') as HTMLAnchorElement | null
  if (!link) return
  link.download = name
  link.href = URL.createObjectURL(new Blob([dataText()], { type: 'application/json' }))
  link.hidden = false
}
