// Forms by which a reader with a token says what a change is, or asks for work.

import { post } from './posting'

export function wireMarking(part: ParentNode = document): void {
  wire(part, 'form[data-mark]', (form) => {
    const said = new FormData(form)
    const body = { state: String(said.get('state')), reason: String(said.get('reason')) || null }
    return post(form, form.dataset.mark!, body, () => location.reload())
  })
  wire(part, 'form[data-post]', (form) => {
    const body = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]))
    const { then } = form.dataset
    return post(form, form.dataset.post!, body, () => (then ? location.assign(then) : location.reload()))
  })
}

function wire(part: ParentNode, forms: string, send: (form: HTMLFormElement) => Promise<void>): void {
  for (const form of part.querySelectorAll<HTMLFormElement>(forms)) {
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void send(form)
    })
  }
}
