// Entry point: adds charts, controls, sorting and links to a page that is complete without a
// script.

import { readData, wireDownload, wireLinks } from './address'
import { showComparison } from './comparison'
import { showCourse } from './course'
import { isCompared } from './forest'
import { keepLive, replaceParts, showNews, showWorklist } from './live'
import type { Comparison, RunSummary, Timeline } from './model'
import { makeSortable, wireMarking, wirePrint } from './page'
import { showRun } from './run'
import { isTimeline } from './timeline'

/** Parts of lists that change during a run. */
const LISTS = ['answer', 'histories', 'open', 'recent', 'machines', 'runs', 'jobs']

const data = readData<RunSummary | Comparison | Timeline>()
document.documentElement.classList.add('live')
document.querySelectorAll<HTMLTableElement>('table.sortable').forEach(makeSortable)
if (data === null) {
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
