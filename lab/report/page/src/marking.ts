// Forms by which a reader with a token says what a change is. They send JSON, which no form of another site can.

export function wireMarking(part: ParentNode = document): void {
  for (const form of part.querySelectorAll<HTMLFormElement>('form[data-mark]')) {
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void send(form)
    })
  }
}

/** Sends what the form says, and shows the page anew with it, or why it was refused. */
async function send(form: HTMLFormElement): Promise<void> {
  const told = form.querySelector('[role="status"]')!
  const button = form.querySelector('button')!
  const said = new FormData(form)
  button.disabled = true
  told.textContent = 'Saving …'
  try {
    const body = JSON.stringify({ state: said.get('state'), reason: said.get('reason') || null })
    const answer = await fetch(form.dataset.mark!, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    if (answer.ok) return location.reload()
    told.textContent = `Not saved: ${((await answer.json()) as { error: string }).error}.`
  } catch {
    told.textContent = 'Not saved: the server does not answer.'
  }
  button.disabled = false
}
