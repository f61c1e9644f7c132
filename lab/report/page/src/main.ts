// Brings the page to life: the tables are there without it; this adds charts, controls, sorting and links.

import { showComparison } from './comparison'
import { showCourse } from './course'
import { readData } from './data'
import { isCompared } from './improvement'
import { wireDownload, wireLinks } from './links'
import type { Comparison, RunSummary, Timeline } from './model'
import { wirePrint } from './printing'
import { showRun } from './run'
import { makeSortable } from './sorting'
import { isTimeline } from './timeline'

const data = readData<RunSummary | Comparison | Timeline>()
document.documentElement.classList.add('live')
document.querySelectorAll<HTMLTableElement>('table.sortable').forEach(makeSortable)
if (data === null) {
  // A list.
  wireLinks(() => {})
} else if (isTimeline(data)) {
  wireLinks(() => {})
  showCourse(data)
} else if (isCompared(data)) {
  showComparison(data)
  wireLinks(() => {})
  wireDownload('faultline-comparison.json')
} else {
  wireLinks(showRun(data))
  wireDownload(`faultline-run-${data.run}.json`)
}
wirePrint()
