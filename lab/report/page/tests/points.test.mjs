// Where a pinned commit and a step lead: the comparison of two commits, with what was executed of each, and back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBrowser } from './browser.mjs'
import { asked, historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer()

const STEP = 70

async function marks(id) {
  return (await asked(`/api/v1/histories/${id}/timeline`)).marks
}

test('a pinned commit leads to the comparison with the one before it, and from there to its raw executions', async () => {
  const id = await historyCalled('app')
  const commits = await marks(id)
  const { page, problems, close } = await openOf(`/histories/${id}#at=${commits[STEP].commit}`)
  const tip = page.locator('.tip.locked')
  await tip.getByRole('link', { name: /^with the previous one/ }).click()
  await page.waitForURL(`**/compare?a=${commits[STEP - 1].commit}&b=${commits[STEP].commit}`)
  await page.locator('.forest .chart svg').waitFor()
  assert.match(await page.locator('#overview tbody').innerText(), /slower/)
  assert.match(await page.locator('#between').innerText(), /1 commit of the history by A\. Uthor/)
  assert.match(await page.locator('#steps').innerText(), /\+30\.\d % .*worse/)
  await page.locator('#sides tbody tr').nth(1).getByRole('link', { name: 'raw executions' }).click()
  await page.waitForURL(`**/runs/3/executions?subject=${STEP}`)
  assert.equal(await page.locator('tbody tr').count(), 6)
  await page.locator('tbody th a').first().click()
  assert.match(await page.locator('#outcome').innerText(), /done|succeeded/i)
  assert.match(await page.locator('#measures').innerText(), /real_s/)
  assert.deepEqual(problems, [])
  await close()
})

test('any two commits are compared: one is chosen as side A, which the address has', async () => {
  const id = await historyCalled('app')
  const commits = await marks(id)
  const { page, problems, close } = await openOf(`/histories/${id}#at=${commits[90].commit}`)
  const tip = page.locator('.tip.locked')
  await tip.getByRole('link', { name: 'choose this commit' }).click()
  assert.match(page.url(), new RegExp(`[#&]a=${commits[90].commit}`))
  await page.reload()
  await page.locator('#commits tbody tr[data-position="110"] a').first().click()
  await tip.getByRole('link', { name: /^with side A/ }).click()
  await page.waitForURL(`**/compare?a=${commits[90].commit}&b=${commits[110].commit}`)
  assert.match(await page.locator('#between').innerText(), /20 commits of the history by/)
  assert.match(await page.locator('#steps').innerText(), /No step of the history begins here/)
  await page.locator('#sides').getByRole('link').first().click()
  await page.locator('.tip.locked').waitFor()
  assert.deepEqual(problems, [])
  await close()
})

test('from the overview three clicks lead to both sides of the last step: which commit, how sure', async () => {
  const { page, problems, close } = await openOf('/')
  await page.locator('#histories tbody tr').filter({ hasText: 'app' }).first().getByRole('link').first().click()
  await page.locator('#steps').getByRole('link', { name: 'Compare both sides' }).click()
  assert.match(await page.locator('h1').innerText(), /^app: [0-9a-f]{12} → [0-9a-f]{12}$/)
  assert.match(await page.locator('#overview').innerText(), /slower/)
  assert.deepEqual(problems, [])
  await close()
})

test('a commit that does not build shows what its build said, as text', async () => {
  const id = await historyCalled('app')
  const commits = await marks(id)
  const { page, problems, close } = await openOf(`/histories/${id}/compare?a=${commits[29].commit}&b=${commits[30].commit}`, { width: 400, scheme: 'dark' })
  const text = await page.locator('#sides').innerText()
  assert.match(text, /B cannot be measured[^]*it ends with status 2[^]*<img src=x onerror=alert\(1\)>/)
  assert.match(await page.locator('main').innerText(), /Not compared: both commits need a value/)
  assert.equal(await page.locator('img').count(), 0)
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(wide <= 0, `${wide} px too wide`)
  assert.deepEqual(problems, [])
  await close()
})
