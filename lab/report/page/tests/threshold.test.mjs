// Steps by a smallest change that the reader chooses: drawn at once, kept in the address, and told apart from those that have states.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBrowser } from './browser.mjs'
import { historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer()

const SVG = '.timeline .chart svg'

test('another smallest change draws other steps, which the address has, and says what they are not', async () => {
  const { page, problems, close } = await openOf(`/histories/${await historyCalled('moved')}`)
  const words = page.locator(`${SVG} g[aria-label="text"] text`)
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 2)
  assert.equal(await page.locator('#threshold').isVisible(), false)
  const control = page.getByLabel('Smallest step')
  assert.match(await control.locator('option:checked').innerText(), /^1 % \(usual\)$/)
  await control.selectOption('50')
  await page.locator('#threshold').filter({ hasText: /at least 50 %: 0\. By the usual 1 % there are 2\. States, remarks/ }).waitFor()
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 0)
  assert.equal(await page.locator('.strip line.quirk, .strip line.open').count(), 0)
  assert.equal(await page.locator('#steps tbody tr').count(), 2)
  assert.equal(new URL(page.url()).hash, '#min=50')
  await page.reload()
  await page.locator('#threshold').filter({ hasText: 'at least 50 %: 0' }).waitFor()
  await control.selectOption('1')
  await page.locator('#threshold').waitFor({ state: 'hidden' })
  await words.filter({ hasText: 'worse' }).first().waitFor()
  assert.equal(new URL(page.url()).hash, '')
  assert.deepEqual(problems, [])
  await close()
})

test('the address may name a threshold that is not offered, and one that is none is left out', async () => {
  const id = await historyCalled('app')
  const { page, problems, close } = await openOf(`/histories/${id}#min=12.5`)
  await page.locator('#threshold').filter({ hasText: 'at least 12.5 %: 1.' }).waitFor()
  assert.equal(await page.getByLabel('Smallest step').inputValue(), '12.5')
  const box = await page.locator('.timeline .chart').boundingBox()
  assert.ok(box.width > 300)
  await page.locator('#steps tbody tr').getByRole('link').first().click()
  const tip = page.locator('.tip.locked')
  await tip.waitFor()
  assert.match(await tip.innerText(), /step\s+\+30\.\d %, worse/)
  assert.doesNotMatch(await tip.innerText(), /state/)
  await close()
  const { page: odd, close: closeOdd } = await openOf(`/histories/${id}#min=%3Cscript%3E`)
  assert.equal(await odd.locator('#threshold').isVisible(), false)
  assert.deepEqual(problems, [])
  await closeOdd()
})

test('a server that does not answer leaves the steps as they are', async () => {
  const { page, close } = await openOf(`/histories/${await historyCalled('app')}`)
  await page.route('**/steps?*', (route) => route.abort())
  await page.getByLabel('Smallest step').selectOption('50')
  await page.locator('#threshold').filter({ hasText: 'The server does not answer' }).waitFor()
  assert.match(await page.locator(SVG).innerHTML(), /\+30\.\d %, worse/)
  await close()
})
