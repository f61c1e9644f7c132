// The list of changes: filter, states by readers with a token, jobs, and news since the last visit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBrowser } from './browser.mjs'
import { asked, historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer('--token')

const ROWS = '#changes tbody tr:not([hidden])'

test('the work list shows open changes, and the address has the filter', async () => {
  const { page } = await openOf('/changes')
  const { total } = await asked('/api/v1/changes')
  const { total: open } = await asked('/api/v1/changes?state=open')
  assert.ok(open < total)
  assert.equal(await page.locator(ROWS).count(), open)
  assert.equal(await page.locator('#changes .count').innerText(), `${open} of ${total} changes`)
  await page.getByRole('radio', { name: 'All' }).check({ force: true })
  assert.equal(await page.locator(ROWS).count(), total)
  assert.match(page.url(), /#state=all$/)
  await page.reload()
  assert.equal(await page.locator(ROWS).count(), total)
  await page.getByRole('radio', { name: 'All' }).focus()
  await page.keyboard.press('ArrowRight')
  assert.match(page.url(), /#state=found$/)
  const row = page.locator(ROWS).filter({ hasText: 'app' }).first()
  assert.match(await row.innerText(), /\+30\.\d %/)
  await row.getByText(/1 commit of the history by A\. Uthor \(1\)/).click()
  assert.match(await row.locator('details.between li').innerText(), /Commit 70/)
})

test('a state with a remark is saved, and appears as text wherever the change does', async () => {
  const { page } = await openOf('/changes')
  const before = await page.locator(ROWS).count()
  const row = page.locator(ROWS).filter({ hasText: 'app' }).first()
  await row.getByText('Set state').press('Enter')
  await row.getByLabel('State').selectOption('ignored')
  await row.getByLabel('Remark').fill('<img src=x onerror=alert(1)> known')
  await row.getByLabel('Remark').press('Enter')
  await page.waitForFunction((count) => document.querySelectorAll('#changes tbody tr:not([hidden])').length === count, before - 1)
  await page.getByRole('radio', { name: 'Ignored' }).check({ force: true })
  assert.match(await page.locator(ROWS).innerText(), /ignored by B\. Uilder: <img src=x onerror=alert\(1\)> known/)
  assert.equal(await page.locator('img').count(), 0)
  await page.locator(ROWS).getByRole('link').first().click()
  await page.locator('.timeline .chart svg').waitFor()
  assert.match(await page.locator('#steps tbody').innerText(), /ignored by B\. Uilder/)
  assert.match(await page.locator('.timeline .chart svg').innerHTML(), /worse, ignored/)
  await page.goto(new URL('/', page.url()).href)
  assert.match(await page.locator('#histories tbody').innerText(), /ignored/)
})

test('a rejected state has its reason beside the form', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('moved')}`, { expected: 'status of 404' })
  await page.route('**/changes/*', (route) => route.fulfill({ status: 404, contentType: 'application/json', body: '{"error": "the history has no change at this commit", "hint": null}' }))
  const form = page.locator('#steps .marking').first()
  await form.getByText('Set state').click()
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Not saved: the history has no change at this commit.').waitFor()
  assert.equal(await form.getByRole('button', { name: 'Save' }).isEnabled(), true)
})

test('jobs are requested from a change and a comparison, listed and withdrawn', async () => {
  const { page } = await openOf('/changes')
  const row = page.locator(ROWS).filter({ hasText: 'app' }).first()
  await row.getByText('Set state, or bisect').press('Enter')
  await row.getByRole('button', { name: 'Bisect its commits' }).click()
  await page.waitForURL('**/jobs')
  const job = page.locator('#jobs tbody tr').first()
  assert.match(await job.innerText(), /bisect[^]*waiting[^]*by B\. Uilder/)
  await job.getByRole('button', { name: 'Withdraw' }).click()
  await page.locator('#jobs tbody tr').first().getByText('withdrawn').waitFor()
  const { marks } = await asked(`/api/v1/histories/${await historyCalled('app')}/timeline`)
  const [a, b] = [marks[0].commit, marks[1].commit]
  await page.goto(new URL(`/histories/${await historyCalled('app')}/compare?a=${a}&b=${b}`, page.url()).href)
  await page.getByRole('button', { name: 'Measure B again' }).click()
  await page.waitForURL('**/jobs')
  assert.match(await page.locator('#jobs tbody tr').first().innerText(), new RegExp(`measure ${b.slice(0, 12)} again`))
})

test('a later visit lists news', async () => {
  const { page } = await openOf('/')
  assert.equal(await page.locator('#news').count(), 0)
  await page.reload()
  assert.match(await page.locator('#news').innerText(), /^No news/)
  const id = await historyCalled('app')
  await page.evaluate((id) => {
    const seen = JSON.parse(localStorage.getItem('faultline-seen'))
    seen[id] = { step: '', measured: seen[id].measured - 3 }
    localStorage.setItem('faultline-seen', JSON.stringify(seen))
  }, id)
  await page.reload()
  assert.match(await page.locator('#news').innerText(), /^1 history has news/)
  assert.equal(await page.locator(`tr[data-history="${id}"] .badge.new`).innerText(), 'new step, +3 commits')
  await page.evaluate(() => localStorage.setItem('faultline-seen', 'not JSON'))
  await page.reload()
  assert.equal(await page.locator('#news').count(), 0)
})
