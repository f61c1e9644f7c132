// Brings the page to life: the tables are there without it; this adds charts, controls, sorting and links.

import { showComparison } from './comparison'
import { readData } from './data'
import { isCompared } from './improvement'
import { wireDownload, wireLinks } from './links'
import type { Comparison, RunSummary } from './model'
import { wirePrint } from './printing'
import { showRun } from './run'
import { makeSortable } from './sorting'

const data = readData<RunSummary | Comparison>()
document.documentElement.classList.add('live')
document.querySelectorAll<HTMLTableElement>('table.sortable').forEach(makeSortable)
if (isCompared(data)) {
  showComparison(data)
  wireLinks(() => {})
  wireDownload('faultline-comparison.json')
} else {
  wireLinks(showRun(data))
  wireDownload(`faultline-run-${data.run}.json`)
}
wirePrint()
