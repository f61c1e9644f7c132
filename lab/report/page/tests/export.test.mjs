// The pages as files: they open from a file system without a server, plots included, and execute nothing of what they show.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPage, useBrowser } from './browser.mjs'
import { asked, historyCalled, useServer } from './server.mjs'

const SITE = mkdtempSync(join(tmpdir(), 'faultline-site-'))
after(() => rmSync(SITE, { recursive: true }))

useBrowser()
useServer(SITE)

function openFile(path, options = {}) {
  const top = pathToFileURL(SITE).href
  return openPage(`${top}/${path}`, { ...options, offline: true, allowed: (url) => url.startsWith(`${top}/`) })
}

test('from the overview to the step of a history and to its run, without a server', async () => {
  const { page, problems, close } = await openFile('index.html')
  await page.locator('#histories tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('.timeline .chart svg').waitFor()
  await page.locator('#steps tbody tr').getByRole('link').first().click()
  await page.locator('.tip.locked').filter({ hasText: 'worse' }).waitFor()
  await page.locator('.tip.locked').getByRole('link', { name: 'run 3' }).click()
  assert.match(await page.locator('h1').innerText(), /Run 3/)
  await page.getByRole('link', { name: 'Executions' }).click()
  await page.locator('tbody th a').first().click()
  assert.match(await page.locator('#measures').innerText(), /real_s/)
  assert.deepEqual(problems, [])
  await close()
})

test('the page of a run has its charts, and a long history its buckets', async () => {
  for (const path of ['runs/2.html', `histories/${await historyCalled('long')}.html#from=100&to=900`, `histories/${await historyCalled('</script>')}.html`]) {
    const { page, problems, close } = await openFile(path, { scheme: 'dark', width: 400 })
    assert.ok((await page.locator('.chart svg').count()) > 0)
    assert.equal(await page.locator('img').count(), 0)
    assert.deepEqual(problems, [], path)
    await close()
  }
})

test('several histories in one plot, without a server', async () => {
  const [one, four] = [await historyCalled('app', 1), await historyCalled('app', 4)]
  const { page, problems, close } = await openFile(`histories/${one}.html`)
  await page.getByText('Draw with others').click()
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
  assert.deepEqual(problems, [])
  await close()
})

test('steps by another smallest change, without a server; one that is not offered is said to be missing', async () => {
  const { page, problems, close } = await openFile(`histories/${await historyCalled('moved')}.html`)
  const words = page.locator('.timeline .chart svg g[aria-label="text"] text')
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 2)
  await page.getByLabel('Smallest step').selectOption('50')
  await page.locator('#threshold').filter({ hasText: /at least 50 %: 0\. By the usual 1 % there are 2\./ }).waitFor()
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 0)
  assert.deepEqual(problems, [])
  await page.evaluate(() => (location.hash = '#min=12.5'))
  await page.locator('#threshold').filter({ hasText: 'none of them has the answer: steps of at least 12.5 % are not known. The plot shows those of the usual 1 %' }).waitFor()
  await words.filter({ hasText: 'worse' }).first().waitFor()
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 2)
  await close()
})

test('two commits are compared without a server, plots included, and pairs that are not there are said to be missing', async () => {
  const id = await historyCalled('app')
  const { marks } = await asked(`/api/v1/histories/${id}/timeline`)
  const { page, problems, close } = await openFile(`histories/${id}.html#at=${marks[70].commit}`)
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
  assert.match(await page.locator('#outcome').innerText(), /done|succeeded/i)
  await page.goBack()
  await page.goBack()
  await page.getByRole('link', { name: 'The whole history' }).click()
  await page.locator('#steps').getByRole('link', { name: 'Compare both sides' }).click()
  await page.waitForURL('**/compare/69-70.html')
  await page.goBack()
  // The newest commits are compared with each other; the oldest only with their neighbours.
  await page.evaluate((commit) => (location.hash = `#at=${commit}`), marks[119].commit)
  await tip.getByRole('link', { name: 'choose this commit' }).click()
  await page.locator('#commits tbody tr[data-position="117"] a').first().click()
  await tip.getByRole('link', { name: /^with side A, .*, the older one as A$/ }).click()
  await page.waitForURL('**/compare/117-119.html')
  await page.locator('.forest .chart svg').waitFor()
  await page.goBack()
  await page.locator('#commits tbody tr[data-position="2"] a').first().click()
  await tip.filter({ hasText: /with side A, [0-9a-f]+: not in these pages/ }).waitFor()
  assert.deepEqual(problems, [])
  await close()
})

test('a short range of a long history has its single commits, across the ends of files', async () => {
  const { page, problems, close } = await openFile(`histories/${await historyCalled('long')}.html#from=4300&to=5100`)
  await page.locator('#shown').filter({ hasText: 'The newest 200 of 801 commits in the plot.' }).waitFor()
  const id = await historyCalled('long')
  const { marks } = await asked(`/api/v1/histories/${id}/timeline?from=4321&to=4321`)
  await page.evaluate((commit) => (location.hash = `#from=4300&to=5100&at=${commit}`), marks[0].commit)
  await page.locator('.tip.locked').filter({ hasText: marks[0].commit.slice(0, 12) }).waitFor()
  await page.evaluate(() => (location.hash = '#from=100&to=4900'))
  await page.locator('#shown').filter({ hasText: 'choose a shorter range' }).waitFor()
  assert.deepEqual(problems, [])
  await close()
})

test('the pages say when they were made, and have the work list of changes', async () => {
  const { page, problems, close } = await openFile('changes.html')
  assert.match(await page.locator('.made').innerText(), /^These pages show the database as it was on 20\d\d-\d\d-\d\d \d\d:\d\d UTC\.$/)
  assert.equal(await page.locator('form').count(), 0)
  await page.locator('#changes tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('.timeline .chart svg').waitFor()
  assert.equal(await page.locator('.made').count(), 1)
  assert.deepEqual(problems, [])
  await close()
})

test('nothing of a page is sent anywhere', async () => {
  const { page, close } = await openFile('index.html')
  const refused = await page.evaluate(async () => {
    const violation = new Promise((resolve) => addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective)))
    await fetch('http://127.0.0.1:9/').catch(() => {})
    return violation
  })
  assert.equal(refused, 'connect-src')
  await close()
})
