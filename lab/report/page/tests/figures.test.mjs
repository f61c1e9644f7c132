// The tables hold the very numbers of the run's JSON, and the download is that JSON.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

/** What a row of the table of points must say, in its order. */
function expected(curve, point) {
  const base = curve.base_tasks === point.tasks
  const interval = (estimate) => (estimate ? [estimate.low, estimate.high] : [])
  const all = (estimate) => (estimate ? [estimate.median, ...interval(estimate)] : [])
  const shares = point.shares ? [point.shares.user, point.shares.system, point.shares.idle, point.shares.steal] : []
  const value = point.value ? [...all(point.value), point.value.coverage, point.value.n] : []
  return [...value, ...(base ? [] : [...all(point.speedup), ...all(point.efficiency)]), ...all(point.system_share), ...shares]
}

for (const name of ['typical', 'one-cpu', 'all-failed', 'hostile']) {
  test(`the tables of ${name} say what its JSON says`, async () => {
    const { page, close } = await open(name)
    for (const [index, curve] of summaryOf(name).curves.entries()) {
      for (const point of curve.points) {
        const row = page.locator(`:nth-match(article.curve, ${index + 1}) tr[data-tasks="${point.tasks}"]`)
        const numbers = await row.locator('data').evaluateAll((all) => all.map((data) => Number(data.value)))
        assert.deepEqual(numbers, expected(curve, point), `${curve.workload}:${curve.variant} at ${point.tasks}`)
        if (point.failures.length > 0) assert.match(await row.locator('.words').textContent(), /failed|no figure/)
      }
    }
    await close()
  })
}

test('what is embedded is the summary', async () => {
  const { page, close } = await open('hostile')
  assert.deepEqual(await page.evaluate(() => JSON.parse(document.getElementById('data').textContent)), summaryOf('hostile'))
  await close()
})

test('the download is the summary', async () => {
  const { page, problems, close } = await open('typical')
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#download').click()])
  assert.equal(download.suggestedFilename(), 'faultline-run-12.json')
  assert.deepEqual(JSON.parse(readFileSync(await download.path(), 'utf8')), summaryOf('typical'))
  assert.deepEqual(problems, [])
  await close()
})
