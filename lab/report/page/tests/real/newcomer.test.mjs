// From a repository to an answer: `faultline history` measures commits of a C program under the
// lens, `faultline bisect` finds the commit of a step, and pages lead to it. Requires the lens.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { useBrowser } from '../browser.mjs'
import { counters as program } from './counters.mjs'
import { Lab } from './lab.mjs'

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
  await lab.serve()
}, { timeout: 600_000 })

after(() => lab.close())

test('three clicks from the overview lead to commit, line and certainty of a step', async () => {
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
})
