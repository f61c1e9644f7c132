// Contrast of every text in both modes, and axe's rules.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { COMPARISONS, FIXTURES, SCHEMES, open, useBrowser } from './browser.mjs'

useBrowser()

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const STATE = '#open=map_churn:private:thread'

/** Runs in the page: every visible text whose contrast to its ground is below what WCAG 2 AA asks for. */
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
    const { page, close } = await open('typical', { scheme })
    const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    const [red] = ground.match(/\d+/)
    assert.equal(Number(red) > 128, scheme === 'light')
    await close()
  })
}

test('nothing moves for readers who asked for stillness', async () => {
  const { page, close } = await open('typical', { reducedMotion: 'reduce' })
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior), 'auto')
  await close()
})
