// Pages as files: they work without a server, plots included.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPage, useBrowser } from './browser.mjs'
import { asked, historyCalled, useServer } from './server.mjs'

useBrowser()
const SITE = mkdtempSync(join(tmpdir(), 'faultline-site-'))
after(() => rmSync(SITE, { recursive: true }))

useServer(SITE)

function openFile(path, options = {}) {
  const top = pathToFileURL(SITE).href
  return openPage(`${top}/${path}`, { ...options, offline: true, allowed: (url) => url.startsWith(`${top}/`) })
}

test('files lead from the overview to a step, its run and an execution', async () => {
  const { page } = await openFile('index.html')
  await page.locator('#histories tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('.timeline .chart svg').waitFor()
  await page.locator('#steps tbody tr').getByRole('link').first().click()
  await page.locator('.tip.locked').filter({ hasText: 'worse' }).waitFor()
  await page.locator('.tip.locked').getByRole('link', { name: 'run 3' }).click()
  assert.match(await page.locator('h1').innerText(), /^history of app$/)
  await page.getByRole('link', { name: 'Executions' }).click()
  await page.locator('tbody th a').first().click()
  assert.match(await page.locator('section:target').innerText(), /real_s/)
})

test('files have charts of runs and of long histories', async () => {
  for (const path of ['runs/2.html', `histories/${await historyCalled('long')}.html#from=100&to=900`, `histories/${await historyCalled('</script>')}.html`]) {
    const { page, close } = await openFile(path, { scheme: 'dark', width: 400 })
    assert.ok((await page.locator('.chart svg').count()) > 0)
    assert.equal(await page.locator('img').count(), 0)
    await close()
  }
})

test('files have several histories in one plot', async () => {
  const [one, four] = [await historyCalled('app', 1), await historyCalled('app', 4)]
  const { page } = await openFile(`histories/${one}.html`)
  await page.getByText('Add histories').click()
  await page.getByLabel('app: the time, 4 copies').check()
  await page.locator('#series li').nth(1).waitFor()
  assert.match(page.url(), new RegExp(`#with=${four}$`))
  assert.deepEqual(await page.locator('.timeline .chart svg .series-number text').allTextContents(), ['2', '1'])
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowDown')
  assert.match(await page.locator('.tip').innerText(), /2: app: the time, 4 copies[^]*history 1\s+\d/)
  await page.locator('#series li a').click()
  await page.waitForURL(`**/histories/${four}.html`)
  await page.locator('.timeline .chart svg').waitFor()
})

test('files have steps for the offered minimum changes', async () => {
  const { page } = await openFile(`histories/${await historyCalled('moved')}.html`, { expected: 'ERR_FILE_NOT_FOUND' })
  const words = page.locator('.timeline .chart svg g[aria-label="text"] text')
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 2)
  await page.getByLabel('Minimum step').selectOption('50')
  await page.locator('#threshold').filter({ hasText: /at least 50 % in the plot: 0\. At the default of 1 %: 2\./ }).waitFor()
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 0)
  await page.evaluate(() => (location.hash = '#min=12.5'))
  await page.locator('#threshold').filter({ hasText: 'No file of this export has the answer: steps of at least 12.5 % are unknown. The plot has those of at least 1 %' }).waitFor()
  await words.filter({ hasText: 'worse' }).first().waitFor()
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 2)
})

test('files have comparisons of commits, and missing pairs are stated', async () => {
  const id = await historyCalled('app')
  const { marks } = await asked(`/api/v1/histories/${id}/timeline`)
  const { page } = await openFile(`histories/${id}.html#at=${marks[70].commit}`)
  const tip = page.locator('.tip.locked')
  await tip.getByRole('link', { name: /^with the previous one/ }).click()
  await page.waitForURL('**/compare/69-70.html')
  await page.locator('.forest .chart svg').waitFor()
  assert.match(await page.locator('#overview tbody').innerText(), /slower/)
  assert.match(await page.locator('#steps').innerText(), /\+30\.\d % .*worse/)
  assert.equal(await page.locator('img, form').count(), 0)
  await page.locator('#sides tbody tr').nth(1).getByRole('link', { name: 'raw executions' }).click()
  await page.waitForURL('**/runs/3/executions.html#subject-70')
  await page.locator('#subject-70 th a').click()
  assert.match(await page.locator('section:target').innerText(), /done|succeeded/i)
  await page.goBack()
  await page.goBack()
  await page.getByRole('link', { name: 'The whole history' }).click()
  await page.locator('#steps').getByRole('link', { name: 'Compare both sides' }).click()
  await page.waitForURL('**/compare/69-70.html')
  await page.goBack()
  // The export compares the newest commits with each other, the oldest only with neighbours.
  await page.evaluate((commit) => (location.hash = `#at=${commit}`), marks[119].commit)
  await tip.getByRole('link', { name: 'choose as side A' }).click()
  await page.locator('#commits tbody tr[data-position="117"] a').first().click()
  await tip.getByRole('link', { name: /^with side A, .*, the older one as A$/ }).click()
  await page.waitForURL('**/compare/117-119.html')
  await page.locator('.forest .chart svg').waitFor()
  await page.goBack()
  await page.locator('#commits tbody tr[data-position="2"] a').first().click()
  await tip.filter({ hasText: /with side A, [0-9a-f]+: not in this export/ }).waitFor()
})

test('a short range of a long history has single commits from several files', async () => {
  const { page } = await openFile(`histories/${await historyCalled('long')}.html#from=4300&to=5100`)
  await page.locator('#shown').filter({ hasText: 'The newest 200 of 801 commits in the plot.' }).waitFor()
  const id = await historyCalled('long')
  const { marks } = await asked(`/api/v1/histories/${id}/timeline?from=4321&to=4321`)
  await page.evaluate((commit) => (location.hash = `#from=4300&to=5100&at=${commit}`), marks[0].commit)
  await page.locator('.tip.locked').filter({ hasText: marks[0].commit.slice(0, 12) }).waitFor()
  await page.evaluate(() => (location.hash = '#from=100&to=4900'))
  await page.locator('#shown').filter({ hasText: 'choose a shorter range' }).waitFor()
})

test('files have the time of the export and the list of changes', async () => {
  const { page } = await openFile('changes.html')
  assert.match(await page.locator('.made').innerText(), /^Exported from the database on 20\d\d-\d\d-\d\d \d\d:\d\d UTC\.$/)
  assert.equal(await page.locator('form').count(), 0)
  await page.locator('#changes tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('.timeline .chart svg').waitFor()
  assert.equal(await page.locator('.made').count(), 1)
})

test('files cannot send data', async () => {
  const { page } = await openFile('index.html', { expected: '127.0.0.1' })
  const refused = await page.evaluate(async () => {
    const violation = new Promise((resolve) => addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective)))
    await fetch('http://127.0.0.1:9/').catch(() => {})
    return violation
  })
  assert.equal(refused, 'connect-src')
})
