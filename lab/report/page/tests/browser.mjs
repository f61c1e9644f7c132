// Pages in Chromium: fixtures without a network, and checks. The fixtures are written by
// `cargo run --example fixture_page`.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, afterEach, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const PAGES = new URL('../../../../target/fixture-pages/', import.meta.url)
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const FIXTURES = ['typical', 'two-points', 'one-cpu', 'all-failed', 'hostile', 'empty', 'lens', 'lens-hostile', 'lens-long', 'lens-empty']
export const COMPARISONS = ['compared', 'compared-scaled', 'compared-stored', 'compared-in-sequence', 'compared-imported', 'compared-hostile', 'compared-empty']
export const SCHEMES = ['light', 'dark']

let browser
const opened = new Set()

/** Maximum duration of closing, which usually takes less than a second. */
const CLOSE_MS = 15_000

/**
 * Starts the browser for a file of tests and ends it afterwards; Node's exit kills a browser that
 * does not close. After each test, its pages must have no problems, and are closed.
 */
export function useBrowser() {
  before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGUMENTS })
  })
  afterEach(async () => {
    for (const { close } of [...opened]) await close()
  })
  after(async () => {
    const limit = new AbortController()
    await Promise.race([browser?.close(), sleep(CLOSE_MS, undefined, { signal: limit.signal })])
    limit.abort()
  })
}

/** The data of a fixture page. */
export function summaryOf(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, PAGES), 'utf8'))
}

/** Opens a fixture without a network. */
export function open(name, { hash = '', ...options } = {}) {
  const address = pathToFileURL(fileURLToPath(new URL(`${name}.html`, PAGES))).href
  return openPage(address + hash, { ...options, offline: true, allowed: (url) => url.split('#')[0] === address })
}

/**
 * Opens an address. Problems are console errors, exceptions and requests that are not `allowed`,
 * except those that include `expected`. `ready` is the class of a page whose script has run.
 */
export async function openPage(address, { scheme = 'light', javaScriptEnabled = true, width = 1280, reducedMotion = 'reduce', ready = 'live', login, offline, allowed, expected }) {
  const context = await browser.newContext({ colorScheme: scheme, javaScriptEnabled, reducedMotion, viewport: { width, height: 900 }, offline, httpCredentials: login })
  const page = await context.newPage()
  const problems = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('request', (request) => {
    const url = request.url()
    if (!allowed(url) && !url.startsWith('data:') && !url.startsWith('blob:')) problems.push(`request for ${url}`)
  })
  await page.goto(address)
  if (javaScriptEnabled) await page.waitForFunction((name) => document.documentElement.classList.contains(name), ready)
  if (javaScriptEnabled && (await page.locator('.chart').count()) > 0) await page.locator('.chart svg').first().waitFor()
  const close = async () => {
    opened.delete(one)
    await context.close()
    assert.deepEqual(problems.filter((problem) => !expected || !problem.includes(expected)), [])
  }
  const one = { page, problems, close }
  opened.add(one)
  return one
}

export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Light and wide, dark and narrow. */
export const SCREENS = [['light', 1400], ['dark', 400]]

/** Checks that a page fits its screen and that axe finds nothing serious. */
export async function checkPage(page, name) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.ok(wide <= 0, `${name} is ${wide} px too wide`)
  await page.evaluate(AXE)
  // Without `preload`, axe requests no style sheets, which the policy of pages as files forbids.
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'], preload: false }))
  const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.length, nodes[0].html]), [], name)
}
