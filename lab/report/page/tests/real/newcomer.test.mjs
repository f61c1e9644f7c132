// From a repository to an answer, with nothing made up: `faultline history` measures commits of a C program under the lens and searches a step, `faultline serve`
// shows them, and somebody who has never seen the pages finds which commit it was, which line of code, and how sure that is. Needs what the lens needs.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openPage, useBrowser } from '../browser.mjs'

const FAULTLINE = process.env.FAULTLINE_PROGRAM ?? fileURLToPath(new URL('../../../../../target/debug/faultline', import.meta.url))

/** Two threads, each of which adds to a counter of its own. */
const program = (alignment) => `#include <pthread.h>
#include <stdalign.h>
struct counter {
    ${alignment} volatile long value;
};
static struct counter counters[2];
static void *work(void *argument)
{
    struct counter *own = argument;
    for (int i = 0; i < 20000; i++)
        own->value++; /* the planted line */
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, &counters[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return 0;
}
`

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
cpus = [2]
seeds = 1
pick = "every 3"
`

let place
let ids
let server
let address

useBrowser()

before(async () => {
  place = mkdtempSync(join(tmpdir(), 'faultline-newcomer-'))
  ids = makeRepository(join(place, 'repository'))
  writeFileSync(join(place, 'faultline.toml'), DECLARED)
  faultline('history', 'run', '--quiet')
  faultline('history', 'drill', 'counters', '--quiet')
  server = spawn(FAULTLINE, ['serve', '--listen', '127.0.0.1:0'], { cwd: place, env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: server.stdout }), 'line')
  address = line.match(/http:\/\/[^/ ]+/)[0]
}, { timeout: 300_000 })

after(() => {
  server?.kill()
  rmSync(place, { recursive: true, force: true })
})

function makeRepository(directory) {
  mkdirSync(directory)
  const git = (...words) =>
    execFileSync('git', ['-c', 'user.name=A. Uthor', '-c', 'user.email=a@example.org', ...words], { cwd: directory, encoding: 'utf8' }).trim()
  git('init', '--quiet')
  return SUBJECTS.map((subject, number) => {
    writeFileSync(join(directory, 'counters.c'), program(number < PLANTED ? 'alignas(64)' : ''))
    writeFileSync(join(directory, 'NEWS'), `version ${number}\n`)
    git('add', '--all')
    git('commit', '--quiet', '--message', subject)
    return git('rev-parse', 'HEAD')
  })
}

function environment() {
  return { ...process.env, FAULTLINE_DB: join(place, 'db.sqlite') }
}

function faultline(...words) {
  return execFileSync(FAULTLINE, words, { cwd: place, env: environment(), encoding: 'utf8', timeout: 240_000 })
}

test('somebody new finds which commit, which line and how sure in three clicks from the overview', async () => {
  const { page, problems, close } = await openPage(`${address}/`, { offline: false, allowed: (url) => url.startsWith(`${address}/`) })
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

  await page.getByRole('link', { name: /^Search \d+/ }).click()
  clicks += 1
  const found = await page.locator('main').innerText()
  for (const words of [planted, SUBJECTS[PLANTED], 'counters.c']) assert.ok(found.includes(words), `${words}: ${found}`)
  assert.ok(clicks <= 3, String(clicks))
  assert.deepEqual(problems, [])
  await close()
})
