// Text from outside, made fit for its place: names that leave room for what stands beside them, and lines.

/** Cut at its end. */
export function shortEnd(text: string, letters = 24): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text
}

/** Cut in its middle: its beginning and its end tell most. */
export function shortMiddle(text: string, letters: number): string {
  if (text.length <= letters) return text
  const end = Math.floor(letters / 3)
  return `${text.slice(0, letters - end - 1)}…${text.slice(text.length - end)}`
}

/** Without control characters, which break lines and which XML can't hold. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\uFFFE\uFFFF]/gu, ' ')
}
