// Links within the page: they move sight and focus and leave the hash to the state. Also the download of the data.

import { dataText } from './data'

export function wireLinks(): void {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]')
    const target = link && document.getElementById(link.hash.slice(1))
    if (!target) return
    event.preventDefault()
    goTo(target)
  })
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
