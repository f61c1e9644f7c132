// Appearance: contrast of texts in both modes, rules of axe, and widths of screens.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AXE, COMPARISONS, FIXTURES, open, SCHEMES, useBrowser } from './browser.mjs'

useBrowser()

const STATE = '#open=map_churn:private:thread'

/** Runs in the page: visible texts with a contrast below WCAG 2 AA. */
function weakTexts() {
  const pen = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true })
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1)
    pen.fillStyle = colour
    pen.fillRect(0, 0, 1, 1)
    return [...pen.getImageData(0, 0, 1, 1).data]
  }
  const over = (top, ground) => [0, 1, 2].map((i) => (top[i] * top[3] + ground[i] * (255 - top[3])) / 255).concat(255)
  const groundOf = (element) => {
    if (!element) return [255, 255, 255, 255]
    const own = rgba(getComputedStyle(element).backgroundColor)
    return own[3] === 255 ? own : over(own, groundOf(element.parentElement))
  }
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const weak = []
  let checked = 0
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement
    if (!texts.currentNode.textContent.trim() || element.closest('script, noscript') || !element.checkVisibility({ visibilityProperty: true })) continue
    const style = getComputedStyle(element)
    const ground = groundOf(element)
    const ink = over(rgba(element.closest('svg') ? style.fill : style.color), ground)
    const [light, dark] = [luminance(ink), luminance(ground)].sort((a, b) => b - a)
    const size = Number.parseFloat(style.fontSize)
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5
    const ratio = (light + 0.05) / (dark + 0.05)
    checked += 1
    if (ratio < needed) weak.push(`${ratio.toFixed(2)}: ${texts.currentNode.textContent.trim().slice(0, 40)} (${element.className || element.tagName})`)
  }
  return { weak, checked }
}

for (const scheme of SCHEMES) {
  test(`every text stands out from its ground, ${scheme}`, async () => {
    for (const name of [...FIXTURES, ...COMPARISONS]) {
      const { page, close } = await open(name, { scheme, hash: name === 'typical' ? STATE : '' })
      if (name === 'typical') await page.locator(':nth-match(article.curve, 1) .chart').click()
      if (name === 'compared') await page.evaluate(() => document.querySelectorAll('details').forEach((details) => (details.open = true)))
      const { weak, checked } = await page.evaluate(weakTexts)
      assert.deepEqual(weak, [], name)
      assert.ok(checked > 20, `${checked} texts on ${name}`)
      await close()
    }
  })

  test(`axe finds nothing, ${scheme}`, async () => {
    for (const name of [...FIXTURES, ...COMPARISONS]) {
      const { page, close } = await open(name, { scheme, hash: name === 'typical' ? STATE : '' })
      await page.evaluate(AXE)
      const { violations, passes } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations', 'passes'] }))
      const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`)
      assert.deepEqual(told, [], name)
      assert.ok(passes.length > 15, `${passes.length} rules passed on ${name}`)
      await close()
    }
  })

  test(`grounds differ between the modes, ${scheme}`, async () => {
    const { page } = await open('typical', { scheme })
    const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    const [red] = ground.match(/\d+/)
    assert.equal(Number(red) > 128, scheme === 'light')
  })
}

test('reduced motion disables smooth scrolling', async () => {
  const { page } = await open('typical', { reducedMotion: 'reduce' })
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), 'auto')
})

for (const name of FIXTURES) {
  test(`${name} does not scroll sideways`, async () => {
    for (const width of [1280, 390, 320]) {
      const { page, close } = await open(name, { width })
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${width} pixels wide`)
      await close()
    }
  })
}

for (const [name, heads] of [['typical', ['curve', 'verdict', 'efficiency']], ['two-points', ['curve', 'verdict', 'efficiency']], ['lens', ['case', 'verdict', 'each doubling adds']], ['compared', ['workload', 'answer', 'change']]]) {
  test(`${heads.slice(1).join(' and ')} of all of ${name} are in sight on a narrow screen`, async () => {
    const { page } = await open(name, { width: 390 })
    const table = page.locator('#overview .scroll')
    const right = await table.evaluate((element) => element.getBoundingClientRect().right)
    for (const column of [2, 3]) {
      for (const cell of await table.locator(`tr > :nth-child(${column})`).all()) {
        const content = await cell.evaluate((element) => {
          const range = document.createRange()
          range.selectNodeContents(element)
          return range.getBoundingClientRect().right
        })
        assert.ok(content <= right, `${await cell.innerText()} ends at ${content} of ${right}`)
      }
    }
    assert.deepEqual((await table.locator('thead th').allTextContents()).slice(0, 3), heads)
  })
}

test('tables of lines and code show all columns on a wide screen despite long names', async () => {
  for (const name of ['lens', 'lens-long']) {
    const { page, close } = await open(name)
    const clipped = await page.locator('#overview .scroll, article.curve > .scroll').evaluateAll((all) => all.filter((table) => table.scrollWidth > table.clientWidth).length)
    assert.equal(clipped, 0, name)
    await close()
  }
})
