// Forms by which a reader with a token writes. They send JSON, which no form of another site can.

type Body = Record<string, string | null>

/** Sends JSON, and does something with the answer, or tells in the form why it was refused. */
export async function post(form: HTMLFormElement, address: string, body: Body, then: (answer: Response) => void): Promise<void> {
  const told = form.querySelector('[role="status"]')!
  const button = form.querySelector('button')!
  button.disabled = true
  told.textContent = 'Saving …'
  try {
    const answer = await fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    if (answer.ok) return then(answer)
    told.textContent = `Not saved: ${((await answer.json()) as { error: string }).error}.`
  } catch {
    told.textContent = 'Not saved: the server does not answer.'
  }
  button.disabled = false
}
