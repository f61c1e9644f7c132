// Brings the page to life: the tables are there without it; this adds charts, controls, sorting and links.

import { showComparison } from './comparison'
import { showCourse } from './course'
import { readData } from './data'
import { isCompared } from './improvement'
import { wireDownload, wireLinks } from './links'
import { keepLive, replaceParts } from './live'
import { wireMarking } from './marking'
import type { Comparison, RunSummary, Timeline } from './model'
import { showNews } from './news'
import { wirePrint } from './printing'
import { showRun } from './run'
import { makeSortable } from './sorting'
import { isTimeline } from './timeline'
import { showWorklist } from './worklist'

/** Parts of lists that change while a run goes on. */
const LISTS = ['histories', 'open', 'recent', 'machines', 'runs', 'jobs']

const data = readData<RunSummary | Comparison | Timeline>()
document.documentElement.classList.add('live')
document.querySelectorAll<HTMLTableElement>('table.sortable').forEach(makeSortable)
if (data === null) {
  // A list.
  wireLinks(() => {})
  showWorklist()
  const markNews = showNews()
  keepLive((page) => {
    for (const part of replaceParts(page, LISTS)) {
      part.querySelectorAll<HTMLTableElement>('table.sortable').forEach(makeSortable)
      wireMarking(part)
    }
    markNews()
  })
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
wireMarking()
wirePrint()
