// Several histories in one plot, and steps with another minimum change.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useBrowser } from './browser.mjs'
import { asked, historyCalled, openOf, useServer } from './server.mjs'

useBrowser()
useServer()

const SVG = '.timeline .chart svg'

async function together(options = {}, more = '') {
  const [one, four] = [await historyCalled('app', 1), await historyCalled('app', 4)]
  const opened = await openOf(`/histories/${one}#with=${four}${more}`, options)
  await opened.page.locator('#series li').nth(1).waitFor()
  return { ...opened, one, four }
}

test('a further history has a number, a mark and a legend', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app', 1)}`)
  assert.equal(await page.locator('#series').isVisible(), false)
  await page.getByText('Add histories').click()
  await page.getByLabel('app: the time, 4 copies').check()
  await page.locator('#series li').nth(1).waitFor()
  assert.match(page.url(), new RegExp(`#with=${await historyCalled('app', 4)}$`))
  const legend = await page.locator('#series li').allInnerTexts()
  assert.match(legend[0], /^\s*1\s+app: the time, 1 copy, on example – in s; steps and quirks belong to this history/)
  assert.match(legend[1], /^\s*2\s+app: the time, 4 copies, on example – in s$/)
  assert.deepEqual(await page.locator(`${SVG} .series-number text`).allTextContents(), ['2', '1'])
  // Marks differ in form, not in colour alone.
  const forms = await page.locator(`${SVG} g[aria-label="dot"]`).evaluateAll((groups) => groups.map((group) => group.firstElementChild.getAttribute('d') ?? group.firstElementChild.tagName))
  assert.equal(new Set(forms).size, 2, forms.join())
  const [first, last] = await page.locator('#series svg').evaluateAll((samples) => samples.map((sample) => sample.querySelector('[aria-label="dot"]').innerHTML))
  assert.notEqual(first, last)
  await page.getByLabel('app: the time, 4 copies').uncheck()
  await page.locator('#series').waitFor({ state: 'hidden' })
  assert.equal(new URL(page.url()).hash, '')
})

test('arrow keys move along a history and to the next one; the address has the pinned commit', async () => {
  const { page, four } = await together({}, '&from=28&to=52')
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  const tip = page.locator('.tip')
  assert.match(await tip.innerText(), /1: app: the time, 1 copy[^]*Commit 28/)
  await page.keyboard.press('ArrowRight')
  assert.match(await tip.innerText(), /1: app: the time, 1 copy[^]*Commit 29/)
  await page.keyboard.press('ArrowDown')
  assert.match(await tip.innerText(), /2: app: the time, 4 copies[^]*Commit 29/)
  await page.keyboard.press('ArrowRight')
  assert.match(await tip.innerText(), /2: app: the time, 4 copies[^]*does not build/)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  assert.match(await tip.innerText(), /Commit 31/)
  assert.match(page.url(), new RegExp(`of=${four}`))
  const address = new URL(page.url())
  const { page: again } = await openOf(address.pathname + address.hash)
  await again.locator('.tip.locked').filter({ hasText: '2: app: the time, 4 copies' }).waitFor()
  assert.match(await again.locator('.tip.locked').innerText(), /Commit 31[^]*run 4[^]*history 1\s+\d/, 'values of the others at this commit, in step')
  await page.keyboard.press('ArrowUp')
  assert.match(await tip.innerText(), /1: app: the time, 1 copy[^]*Commit 31/)
  await page.keyboard.press('Escape')
  assert.doesNotMatch(page.url(), /at=|of=/)
})

test('relative values begin at 1, and different units require them', async () => {
  const { page, four } = await together({}, '&y=relative')
  assert.match(await page.locator(SVG).innerHTML(), /relative to the first measured commit/)
  const ticks = () => page.locator(`${SVG} g[aria-label="y-axis tick label"] text`).allTextContents()
  assert.ok((await ticks()).every((tick) => /^\d(\.\d+)?$/.test(tick)), (await ticks()).join())
  await page.locator('.timeline .chart').focus()
  await page.keyboard.press('Home')
  assert.match(await page.locator('.tip').innerText(), /relative\s+1\.000 of its first value/)
  await page.getByRole('radio', { name: 'Measured' }).check({ force: true })
  assert.doesNotMatch(await page.locator(SVG).innerHTML(), /relative to the first/)
  await page.route('**/beside?*', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ response: answer, body: (await answer.text()).replaceAll('"unit":"s"', '"unit":"instructions"') })
  })
  await page.evaluate((id) => (location.hash = `#with=${id}&from=10`), four)
  await page.locator('#series li').filter({ hasText: 'instructions' }).waitFor()
  assert.match(await page.locator(SVG).innerHTML(), /relative to the first measured commit/)
})

test('a long further history has buckets, and the legend counts commits that are not on the line', async () => {
  const [one, long] = [await historyCalled('app', 1), await historyCalled('long')]
  const { page } = await openOf(`/histories/${one}#with=${long}`)
  await page.locator('#series li').filter({ hasText: '5880 of its commits are not on this line' }).waitFor()
  const { page: other } = await openOf(`/histories/${long}#with=${one}&x=date`, { width: 400, scheme: 'dark' })
  await other.locator('#series li').nth(1).waitFor()
  const wide = await other.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(wide <= 0, `${wide} px too wide`)
  const { series } = await asked(`/api/v1/histories/${one}/beside?with=${long}`)
  assert.deepEqual([series[0].marks.length, series[0].outside, series[0].marks[70].at], [120, 5880, 70])
})

test('missing and unrelated histories are not offered', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app', 1)}#with=0123456789abcdef,%3Cscript%3E&of=x&at=y`)
  assert.equal(await page.locator('#series').isVisible(), false)
  await page.getByText('Add histories').click()
  const boxes = page.locator('.chooser input')
  for (let index = 0; index < 5; index++) await boxes.nth(index).check()
  assert.ok((await boxes.count()) <= 5 || (await boxes.nth(5).isDisabled()))
  assert.equal(await page.locator('img').count(), 0)
})

test('another minimum change draws other steps, and the address has it', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('moved')}`)
  const words = page.locator(`${SVG} g[aria-label="text"] text`)
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 2)
  assert.equal(await page.locator('#threshold').isVisible(), false)
  const control = page.getByLabel('Minimum step')
  assert.match(await control.locator('option:checked').innerText(), /^1 % \(default\)$/)
  await control.selectOption('50')
  await page.locator('#threshold').filter({ hasText: /at least 50 % in the plot: 0\. At the default of 1 %: 2\. States, remarks/ }).waitFor()
  assert.equal(await words.filter({ hasText: 'worse' }).count(), 0)
  assert.equal(await page.locator('.strip line.quirk, .strip line.open').count(), 0)
  assert.equal(await page.locator('#steps tbody tr').count(), 2)
  assert.equal(new URL(page.url()).hash, '#min=50')
  await page.reload()
  await page.locator('#threshold').filter({ hasText: 'at least 50 % in the plot: 0' }).waitFor()
  await control.selectOption('1')
  await page.locator('#threshold').waitFor({ state: 'hidden' })
  await words.filter({ hasText: 'worse' }).first().waitFor()
  assert.equal(new URL(page.url()).hash, '')
})

test('an address may have a minimum change that is not offered; an invalid one is ignored', async () => {
  const id = await historyCalled('app')
  const { page } = await openOf(`/histories/${id}#min=12.5`)
  await page.locator('#threshold').filter({ hasText: 'at least 12.5 % in the plot: 1.' }).waitFor()
  assert.equal(await page.getByLabel('Minimum step').inputValue(), '12.5')
  const box = await page.locator('.timeline .chart').boundingBox()
  assert.ok(box.width > 300)
  await page.locator('#steps tbody tr').getByRole('link').first().click()
  const tip = page.locator('.tip.locked')
  await tip.waitFor()
  assert.match(await tip.innerText(), /step\s+\+30\.\d %, worse/)
  assert.doesNotMatch(await tip.innerText(), /state/)
  const { page: odd } = await openOf(`/histories/${id}#min=%3Cscript%3E`)
  assert.equal(await odd.locator('#threshold').isVisible(), false)
})

test('without an answer the default steps remain', async () => {
  const { page } = await openOf(`/histories/${await historyCalled('app')}`, { expected: 'ERR_FAILED' })
  await page.route('**/steps?*', (route) => route.abort())
  await page.getByLabel('Minimum step').selectOption('50')
  await page.locator('#threshold').filter({ hasText: 'The server does not answer' }).waitFor()
  assert.match(await page.locator(SVG).innerHTML(), /\+30\.\d %, worse/)
})
