// The owner of a lab: from a nightly history to pages. `faultline history` measures commits of a C
// program under the lens, `faultline bisect` finds the commit of a step, and pages of the server
// and as files answer. Requires the lens.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPage, useBrowser } from '../../lab/report/page/tests/browser.mjs'
import { counters as program } from '../../lab/report/page/tests/real/counters.mjs'
import { Lab } from '../../lab/report/page/tests/real/lab.mjs'

const PLANTED_LINE = program('').split('\n').findIndex((line) => line.includes('the planted line')) + 1

const SUBJECTS = [
  'Count requests for each thread', 'Say what is missing', 'Test the parser', 'Shorter names', 'Warn of old files',
  'A faster start', 'Make counters smaller', 'Document the options', 'Notes of the release', 'Less memory at the start',
]

/** The commit that puts both counters on one line. */
const PLANTED = SUBJECTS.indexOf('Make counters smaller')

const DECLARED = `[subject.counters]
repository = "repository"
work = "work"
build = "cc -O1 -g -pthread -o counters counters.c"
keep = ["counters"]
command = "./counters"
measure = "transfers"
tasks = [2]
seeds = 1
pick = "every 3"
`

const lab = new Lab()
let ids

useBrowser()

before(async () => {
  const commit = (subject, number) => [subject, { 'counters.c': program(number < PLANTED ? 'alignas(64)' : ''), NEWS: `version ${number}\n` }]
  ids = lab.repository('repository', SUBJECTS.map(commit))
  lab.write('faultline.toml', DECLARED)
  lab.faultline('history', 'run', '--quiet')
  lab.faultline('bisect', 'counters', '--quiet')
  lab.faultline('serve', '--export', 'site')
  await lab.serve()
}, { timeout: 1_800_000 })

after(() => lab.close())

test('three clicks from the overview lead the owner to commit, line and certainty of a step', async (t) => {
  const { page } = await lab.open('/')
  const planted = ids[PLANTED].slice(0, 12)
  let clicks = 0
  const click = async (name) => {
    await page.getByRole('link', { name, exact: true }).first().click()
    clicks += 1
  }
  assert.match(await page.locator('main').innerText(), /▲|▼/, 'the overview says that something changed')

  await click('counters')
  const step = page.locator('#steps tbody tr').first()
  const said = await step.innerText()
  for (const words of ['worse', 'confirmed', planted, SUBJECTS[PLANTED], 'exact']) assert.ok(said.includes(words), `${words}: ${said}`)
  // Four commits have results, and the axis has no number twice.
  await page.locator('.timeline .chart svg').first().waitFor()
  const ticks = await page.locator('.timeline .chart g[aria-label="x-axis tick label"] text').allTextContents()
  assert.deepEqual(ticks, ['0', '1', '2', '3'])

  await click('Compare both sides')
  const compared = await page.locator('main').innerText()
  assert.match(compared, /more, [\d.]+ → [\d.]+: counters\[[01]\]\.value/)
  assert.match(compared, new RegExp(`more, [\\d.]+ → [\\d.]+: work counters\\.c:${PLANTED_LINE}\\b`))

  await page.getByRole('link', { name: /^Bisection \d+/ }).click()
  clicks += 1
  const found = await page.locator('main').innerText()
  for (const words of [planted, SUBJECTS[PLANTED], 'counters.c']) assert.ok(found.includes(words), `${words}: ${found}`)
  assert.ok(clicks <= 3, String(clicks))
  t.diagnostic(`owner of a lab, from a nightly history to a page: ${lab.effort()} and ${clicks} clicks`)
})

test('the files for a web server open with the answer', async () => {
  const site = pathToFileURL(join(lab.place, 'site')).href
  const { page } = await openPage(`${site}/index.html`, { offline: true, allowed: (url) => url.startsWith(`${site}/`) })
  assert.match(await page.locator('.masthead #answer').innerText(), /became worse: counters/)
})
