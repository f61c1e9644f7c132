// Tables as CSV (RFC 4180). Numbers keep all their digits; what is missing is empty; every row is a line.

import { oneLine } from './shorten'

export type Value = string | number | null | undefined

export interface Sheet {
  /** Names of the columns, each with its unit in brackets where it has one. */
  head: string[]
  rows: Value[][]
}

export function csv({ head, rows }: Sheet): string {
  return [head, ...rows].map((row) => `${row.map(field).join(',')}\n`).join('')
}

function field(value: Value): string {
  const text = value === null || value === undefined ? '' : oneLine(String(value))
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
