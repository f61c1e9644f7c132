// Pages on which a run goes on stay up to date by themselves, and leave alone where the reader is at work.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBrowser } from './browser.mjs'
import { historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer()

const LIVE = 'A run is not finished. This page shows its results as they come.'

/** From now on, the page's address answers with a newer state of it. */
async function answerNewer(page, change) {
  await page.route((url) => url.pathname === new URL(page.url()).pathname, async (route) => {
    const answer = await route.fetch({ headers: { ...route.request().headers(), 'if-none-match': '' } })
    await route.fulfill({ response: answer, headers: { ...answer.headers(), etag: 'W/"newer"' }, body: change(await answer.text()) })
  })
}

test('new results of a history are drawn and listed without a reload, and the choice stays', async () => {
  const { page, problems, close } = await openOf(`/histories/${await historyCalled('growing')}#from=2&to=11`)
  assert.equal(await page.locator('#live').innerText(), LIVE)
  assert.doesNotMatch(await page.locator('#commits').innerText(), /Commit 11 anew/)
  await page.locator('.timeline .chart').focus()
  await answerNewer(page, (body) => body.replaceAll('Commit 11', 'Commit 11 anew').replace('id="reading-title"', 'id="reading-title" data-newer'))
  await page.locator('#commits').getByText('Commit 11 anew').waitFor({ timeout: 20_000 })
  assert.equal(await page.locator('#reading-title[data-newer]').count(), 1)
  assert.equal(await page.locator('#commits tbody tr').count(), 10)
  await page.keyboard.press('End')
  assert.match(await page.locator('.tip').innerText(), /Commit 11 anew/)
  assert.match(page.url(), /#from=2&to=11$/)
  assert.deepEqual(problems, [])
  await close()
})

test('the overview takes new rows over, except where the reader is', async () => {
  const { page, problems, close } = await openOf('/')
  assert.equal(await page.locator('#live').innerText(), LIVE)
  await page.locator('#histories a').first().focus()
  await answerNewer(page, (body) => body.replaceAll('<section', '<section data-newer'))
  await page.locator('#open[data-newer]').waitFor({ timeout: 20_000 })
  assert.equal(await page.locator('#recent[data-newer]').count(), 1)
  assert.equal(await page.locator('#histories[data-newer]').count(), 0)
  assert.deepEqual(problems, [])
  await close()
})

test('a page that was opened before a run began becomes live when one does', async () => {
  const { page, problems, close } = await openOf(`/histories/${await historyCalled('app')}`)
  assert.equal(await page.locator('#live').innerText(), '')
  await answerNewer(page, (body) => body.replace(/<p [^>]*id="live"[^>]*><\/p>/, '<p id="live" data-live="on">A run is not finished. <span class="live-state"></span></p>').replaceAll('Commit 117', 'Commit 117 anew'))
  await page.locator('#live').getByText(LIVE).waitFor({ timeout: 40_000 })
  await page.locator('#commits').getByText('Commit 117 anew').waitFor()
  assert.deepEqual(problems, [])
  await close()
})

test('a page on which nothing goes on says nothing until the server is silent', async () => {
  const { page, close } = await openOf(`/histories/${await historyCalled('app')}`)
  await page.route((url) => url.pathname === new URL(page.url()).pathname, (route) => route.abort())
  await page.locator('#live').getByText('The server does not answer; trying again.').waitFor({ timeout: 40_000 })
  await page.unrouteAll()
  await page.waitForFunction(() => document.getElementById('live').textContent === '', undefined, { timeout: 40_000 })
  await close()
})
