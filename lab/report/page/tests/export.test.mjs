// The pages as files: they open from a file system without a server, plots included, and execute nothing of what they show.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openPage, useBrowser } from './browser.mjs'
import { historyCalled, useServer } from './server.mjs'

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
  assert.equal(await page.getByRole('link', { name: 'Executions' }).count(), 0)
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
