// The data that the page carries, as text and as what it says. Computes nothing.

/** The text of the data as a page carries it. */
export function dataText(page: Document = document): string {
  return page.getElementById('data')?.textContent ?? ''
}

/** The data: a run's summary, a comparison, or a timeline; `format` tells which. Nothing on a page without a plot. */
export function readData<T>(page: Document = document): T | null {
  const text = dataText(page)
  return text ? (JSON.parse(text) as T) : null
}
