// Links and addresses: they name curves and workloads after what they show, and lead there whatever hides it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, summaryOf, useBrowser } from './browser.mjs'

useBrowser()

const ids = (page) => page.locator('article.curve').evaluateAll((all) => all.map(({ id }) => id))
const inSight = (locator) => locator.evaluate((element) => {
  const { top } = element.getBoundingClientRect()
  return element.checkVisibility() && top > -1 && top < innerHeight
})

test('curves are named after workload, variant and tasks', async () => {
  for (const [name, curves] of [['typical', summaryOf('typical').curves], ['lens', summaryOf('lens').lens.curves]]) {
    const { page, close } = await open(name)
    assert.deepEqual(await ids(page), curves.map(({ workload, variant, mode }) => `curve-${workload}:${variant}:${mode}`))
    await close()
  }
})

test('workloads are named after themselves and their number of tasks', async () => {
  const { page, close } = await open('compared')
  assert.deepEqual(await ids(page), summaryOf('compared').workloads.map(({ name, tasks }) => `workload-${name}@${tasks}`))
  await close()
})

for (const name of ['typical', 'hostile', 'lens', 'lens-hostile', 'compared', 'compared-imported', 'compared-hostile']) {
  test(`every link within ${name} has its target, and every name is used once`, async () => {
    const { page, close } = await open(name)
    const links = await page.locator('a[href^="#"]').evaluateAll((all) => all.map(({ hash }) => [hash, document.getElementById(hash.slice(1)) !== null]))
    assert.ok(links.length > 3)
    assert.deepEqual(links.filter(([, found]) => !found), [])
    const all = await page.evaluate(() => [...document.querySelectorAll('[id]')].map(({ id }) => id))
    assert.deepEqual(all.filter((id, index) => all.indexOf(id) !== index || /\s/.test(id)), [])
    await close()
  })
}

test('a link to a curve that the filter hides shows it', async () => {
  const { page, close } = await open('typical', { hash: '#filter=compile&view=speedup' })
  assert.equal(await page.locator('article.curve:visible').count(), 1)
  await page.locator('#overview').getByRole('link', { name: 'map_churn:private' }).click()
  const card = page.locator('[id="curve-map_churn:private:thread"]')
  assert.ok(await inSight(card))
  assert.ok(await card.evaluate((element) => element === document.activeElement))
  assert.equal(await page.evaluate(() => location.hash), '#view=speedup', 'the filter is gone, the view stays')
  assert.equal(await page.locator('.filter select').inputValue(), '')
  await close()
})

test('an address with the name of a curve leads there, at first and later', async () => {
  const { page, problems, close } = await open('typical', { hash: '#curve-tree_build:generated:process' })
  assert.ok(await inSight(page.locator('[id="curve-tree_build:generated:process"]')))
  await page.locator('.filter select').selectOption('compile')
  await page.evaluate(() => (location.hash = '#curve-zero_fill:base:thread'))
  const card = page.locator('[id="curve-zero_fill:base:thread"]')
  await card.waitFor({ state: 'visible' })
  assert.ok(await inSight(card))
  assert.deepEqual(problems, [])
  await close()
})

test('an address that opens a curve and hides it opens it', async () => {
  const { page, close } = await open('typical', { hash: '#filter=compile&open=map_churn:private:thread' })
  const card = page.locator('[id="curve-map_churn:private:thread"]')
  assert.ok(await inSight(card))
  assert.ok(await card.locator('details').evaluate((details) => details.open))
  await close()
})

test('an address may leave out what the tasks are', async () => {
  const { page, close } = await open('typical', { hash: '#open=map_churn:private' })
  assert.ok(await page.locator('[id="curve-map_churn:private:thread"] details').evaluate((details) => details.open))
  await close()
})

test('a filter that hides the open curve takes it out of the address', async () => {
  const { page, close } = await open('typical', { hash: '#open=map_churn:private:thread' })
  await page.locator('.filter select').selectOption('compile')
  assert.equal(await page.evaluate(() => location.hash), '#filter=compile')
  await close()
})

test('a link to what is folded unfolds it', async () => {
  const { page, close } = await open('lens')
  await page.evaluate(() => {
    const table = document.querySelector('article.curve details table')
    table.id = 'folded'
    document.querySelector('nav').insertAdjacentHTML('beforeend', '<a href="#folded">folded</a>')
  })
  await page.getByRole('link', { name: 'folded' }).click()
  assert.ok(await inSight(page.locator('#folded')))
  await close()
})

test('without JavaScript links lead to their curves too', async () => {
  const { page, close } = await open('hostile', { javaScriptEnabled: false })
  await page.locator('#overview tbody a').first().click()
  assert.ok(await page.locator('article.curve').first().evaluate((card) => card.matches(':target')))
  await close()
})
