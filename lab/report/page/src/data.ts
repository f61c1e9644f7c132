// The data that the page carries, as text and as what it says. Computes nothing.

/** The text of the data as the page carries it. */
export function dataText(): string {
  return document.getElementById('data')?.textContent ?? ''
}

/** The data: a run's summary, or a comparison; `format` tells which. */
export function readData<T>(): T {
  return JSON.parse(dataText()) as T
}
