// Every page of a database of real runs: a workload twice, programs under the lens, a history of
// times with unmeasurable commits, and a history of counts with a bisection and a revert. Requires
// the lens.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkPage, openPage, SCREENS, useBrowser } from '../browser.mjs'
import { counters } from './counters.mjs'
import { Lab } from './lab.mjs'

/** A program whose time is that of its loop. */
const loop = (rounds) => `int main(void)
{
    for (volatile long round = 0; round < ${rounds}; round++)
        ;
    return 0;
}
`

const NO_PROGRAM = 'int main(void) { return missing(; }\n'
const CRASH = '#include <stdio.h>\n#include <stdlib.h>\nint main(void)\n{\n    fprintf(stderr, "the table is full\\n");\n    abort();\n}\n'

/** The commits of the timed program, by position. */
const [UNBUILT, CRASHING, LAST] = [5, 9, 23]
const SLOWER_FROM = 12

const DECLARED = `[subject.app]
repository = "app"
work = "work-app"
build = "cc -O0 -o load load.c"
keep = ["load"]
command = "./load"
tasks = [1, 2]
repeats = 6

[subject.counters]
repository = "counters"
work = "work-counters"
build = "cc -O1 -g -pthread -o counters counters.c"
keep = ["counters"]
command = "./counters"
measure = "transfers"
tasks = [2]
seeds = 1
`

const lab = new Lab()
let app
let planted

useBrowser()

before(async () => {
  const text = (at) => (at === UNBUILT ? NO_PROGRAM : at === CRASHING ? CRASH : loop(at < SLOWER_FROM ? 8_000_000 : 80_000_000))
  app = lab.repository('app', Array.from({ length: LAST + 1 }, (_, at) => [`Change ${at}`, { 'load.c': text(at), NEWS: `${at}\n` }]))
  const aligned = ['alignas(64)', 'alignas(64)', '', '']
  planted = lab.repository('counters', aligned.map((alignment, at) => [`Step ${at}`, { 'counters.c': counters(alignment), [`note-${at}`]: 'a file of its own, so that any commit can be undone\n' }]))[2]
  lab.write('faultline.toml', DECLARED)
  lab.faultline('history', 'run', '--quiet')
  lab.faultline('bisect', 'counters', '--revert', '--quiet')
  for (const alignment of ['alignas(64)', '']) {
    const [name] = lab.repository(`lens${alignment}`, [['Program', { 'counters.c': counters(alignment) }]])
    lab.compile(`lens${alignment}`, 'counters')
    lab.faultline('lens', 'program', '--quiet', '--label', `counters ${name.slice(0, 7)}`, '--tasks', '2', '--', join(lab.place, `lens${alignment}`, 'counters'))
  }
  for (let run = 0; run < 2; run++) {
    lab.faultline('run', 'zero_fill:base', '--tasks', '1,2', '--repeats', '3', '--warmup', '20ms', '--window', '100ms', '--interval', '20ms', '--quiet')
  }
  await lab.serve({ asksForToken: true })
}, { timeout: 1_800_000 })

after(() => lab.close())

async function historyOf(subject, tasks) {
  const { histories } = await lab.asked('/api/v1/histories')
  return histories.find((one) => one.subject === subject && one.tasks === tasks).id
}

/** One page of each kind. */
async function addresses() {
  const { runs } = await lab.asked('/api/v1/runs')
  const of = (kind) => runs.filter((run) => run.kind === kind).map((run) => run.id)
  const [timed, lens, [search]] = [of('timed'), of('lens'), of('bisect')]
  const history = await historyOf('app', 1)
  const { marks } = await lab.asked(`/api/v1/histories/${history}/timeline`)
  const { executions } = await lab.asked(`/api/v1/runs/${timed[0]}/executions?limit=1`)
  const { executions: failed } = await lab.asked(`/api/v1/runs/${marks[CRASHING].run}/executions?subject=${CRASHING}`)
  const { executions: booted } = await lab.asked(`/api/v1/runs/${lens[0]}/executions?limit=1`)
  const counts = await historyOf('counters', 2)
  const { steps: [step] } = await lab.asked(`/api/v1/histories/${counts}/timeline`)
  assert.equal(step.commits[1], planted)
  return {
    overview: '/',
    changes: '/changes#state=all',
    jobs: '/jobs',
    machines: '/machines',
    runs: '/runs',
    run: `/runs/${timed[0]}`,
    'run-under-the-lens': `/runs/${lens[0]}`,
    search: `/runs/${search}`,
    'run-of-a-history': `/runs/${marks[0].run}`,
    executions: `/runs/${timed[0]}/executions`,
    samples: `/runs/${timed[0]}/executions/${executions[0].id}`,
    'failed-execution': `/runs/${marks[CRASHING].run}/executions/${failed[0].id}`,
    'execution-in-a-guest': `/runs/${lens[0]}/executions/${booted[0].id}`,
    comparison: `/compare?a=${timed[1]}&b=${timed[0]}`,
    'comparison-under-the-lens': `/compare?a=${lens[1]}&b=${lens[0]}`,
    history: `/histories/${history}#at=${app[LAST]}`,
    'several-histories': `/histories/${history}#with=${await historyOf('app', 2)}&at=${app[SLOWER_FROM]}`,
    'history-of-counts': `/histories/${counts}#at=${planted}`,
    'two-commits': `/histories/${history}/compare?a=${app[SLOWER_FROM - 1]}&b=${app[SLOWER_FROM]}`,
    'commit-that-does-not-build': `/histories/${history}/compare?a=${app[UNBUILT - 1]}&b=${app[UNBUILT]}`,
    'two-commits-of-counts': `/histories/${counts}/compare?a=${step.commits[0]}&b=${step.commits[1]}`,
  }
}

test('every page opens without problems, fits its screen, and passes axe', async () => {
  for (const [name, address] of Object.entries(await addresses())) {
    for (const [scheme, width] of SCREENS) {
      const { page, close } = await lab.open(address, { scheme, width })
      if (address.includes('at=')) await page.locator('.tip.locked').waitFor()
      await checkPage(page, `${name}, ${scheme}, ${width}`)
      await close()
    }
  }
})

test('links lead from the overview to a raw sample, and the address back', async () => {
  const { page } = await lab.open('/')
  await page.locator('#histories tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('#commits tbody tr').first().getByRole('link').first().click()
  const tip = page.locator('.tip.locked')
  await tip.waitFor()
  const host = (await lab.asked(`/api/v1/histories/${await historyOf('app', 1)}/timeline`)).host
  const said = await tip.innerText()
  for (const words of [app[LAST].slice(0, 12), `Change ${LAST}`, 'A. Uthor', 'NEWS', 'lower is better', 'interval', 'Δ', host]) assert.ok(said.includes(words), `${words}: ${said}`)
  const pinned = page.url()
  await tip.getByRole('link', { name: /^with the previous one/ }).click()
  await page.locator('#sides tbody tr').nth(1).getByRole('link', { name: 'raw executions' }).click()
  assert.equal(await page.locator('tbody tr').count(), 6)
  await page.locator('tbody th a').first().click()
  assert.match(await page.locator('#measures').innerText(), /real_s/)
  await page.goto(pinned)
  await tip.waitFor()
  assert.equal(await tip.innerText(), said)
})

test('the keyboard moves through the plot, zooms, pins and closes the box', async () => {
  const { page } = await lab.open(`/histories/${await historyOf('app', 1)}`)
  const chart = page.locator('.timeline .chart')
  for (let press = 0; press < 40 && !(await chart.evaluate((one) => one === document.activeElement)); press++) await page.keyboard.press('Tab')
  const tip = page.locator('.tip')
  assert.match(await tip.innerText(), new RegExp(`Change ${LAST}`), 'the plot is reached by Tab, and begins at the newest commit')
  await page.keyboard.press('Home')
  for (let press = 0; press < UNBUILT; press++) await page.keyboard.press('ArrowRight')
  assert.match(await tip.innerText(), /does not build/)
  await page.keyboard.press('Enter')
  assert.match(page.url(), new RegExp(`at=${app[UNBUILT]}`))
  await page.keyboard.press('+')
  await page.waitForFunction(() => /from=\d+&to=\d+/.test(location.hash))
  assert.ok((await page.locator('#commits tbody tr').count()) < LAST + 1)
  await page.keyboard.press('Escape')
  assert.equal(await tip.isVisible(), false)
  await page.keyboard.press('0')
  await page.waitForFunction(() => location.hash === '')
})

test('a commit that crashes shows its output', async () => {
  const { page } = await lab.open((await addresses())['failed-execution'])
  assert.match(await page.locator('#outcome').innerText(), /the table is full/)
})

test('the console of a successful guest is shown', async () => {
  const { page } = await lab.open((await addresses())['execution-in-a-guest'])
  assert.match(await page.locator('#outcome').innerText(), /done|succeeded/i)
  assert.ok((await page.locator('#console pre').innerText()).length > 20)
})

test('exported files have plots, several histories, a comparison and a console', async () => {
  lab.faultline('serve', '--export', 'site', '--comparisons', '30')
  const top = pathToFileURL(join(lab.place, 'site')).href
  const history = await historyOf('app', 1)
  const { page } = await openPage(`${top}/histories/${history}.html#with=${await historyOf('app', 2)}&at=${app[SLOWER_FROM]}`, { offline: true, allowed: (url) => url.startsWith(`${top}/`) })
  await page.locator('#series li').nth(1).waitFor()
  await page.locator('.tip.locked').getByRole('link', { name: /^with the previous one/ }).click()
  await page.locator('.forest .chart svg').waitFor()
  assert.match(await page.locator('#overview tbody').innerText(), /slower/)
  const guest = (await addresses())['execution-in-a-guest'].match(/^(\/runs\/\d+\/executions)\/(\d+)$/)
  await page.goto(`${top}${guest[1]}.html`)
  await page.getByRole('link', { name: guest[2], exact: true }).click()
  assert.ok((await page.locator('section:target details pre').textContent()).length > 20)
})

test('counts of two commits are compared by data and code, with bisection and revert', async () => {
  const { page } = await lab.open((await addresses())['two-commits-of-counts'])
  assert.match(await page.locator('#counts').innerText(), /transfers \(.*per operation[^]*counters\[[01]\]\.value[^]*work counters\.c:\d+/)
  const steps = await page.locator('#steps').innerText()
  assert.match(steps, /Bisection[^]*reverted, measured beside[^]*The revert takes back/)
  assert.match(steps, /counters\.c {2}\+\d+ −\d+[^]*Builds of [0-9a-f]{12} and [0-9a-f]{12}/)
})

test('two runs under the lens are compared line by line', async () => {
  const { page } = await lab.open((await addresses())['comparison-under-the-lens'])
  const text = await page.locator('main').innerText()
  assert.match(text, /counters.*at 2 CPUs/)
  assert.match(text, /Data that differs[^]*counters\[[01]\]\.value[^]*(came|more)/)
  assert.match(text, /Code that differs[^]*counters\.c:\d+/)
})

test('a requested job is done by the measuring machine', async () => {
  const { page } = await lab.open((await addresses())['two-commits'])
  await page.getByRole('button', { name: 'Measure B again' }).click()
  await page.waitForURL('**/jobs')
  lab.faultline('history', 'work', '--quiet')
  await page.reload()
  assert.match(await page.locator('#jobs tbody tr').first().innerText(), /done/)
})
