// Opens the fixture pages in Chromium, without any network, and keeps what went wrong. `cargo run --example fixture_page` writes the pages.

import { after, before } from 'node:test'
import { readFileSync } from 'node:fs'
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

/** How long a browser has to close. It takes well under a second. */
const CLOSE_MS = 15_000

/** Starts the browser for a file of tests, and ends it with them. One that never says that it has closed is killed by Playwright when Node exits. */
export function useBrowser() {
  before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGUMENTS })
  })
  after(async () => {
    const limit = new AbortController()
    await Promise.race([browser?.close(), sleep(CLOSE_MS, undefined, { signal: limit.signal })])
    limit.abort()
  })
}

/** The summary, or the comparison, that a page was made from. */
export function summaryOf(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, PAGES), 'utf8'))
}

/** Opens a fixture, without a network. `problems` gathers console errors, exceptions, and requests for anything but the page itself. */
export function open(name, { hash = '', ...options } = {}) {
  const address = pathToFileURL(fileURLToPath(new URL(`${name}.html`, PAGES))).href
  return openPage(address + hash, { ...options, offline: true, allowed: (url) => url.split('#')[0] === address })
}

/** Opens an address. `problems` gathers console errors, exceptions, and requests that are not allowed. */
export async function openPage(address, { scheme = 'light', javaScriptEnabled = true, width = 1280, reducedMotion = 'reduce', login, offline, allowed }) {
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
  if (javaScriptEnabled) await page.waitForFunction(() => document.documentElement.classList.contains('live'))
  if (javaScriptEnabled && (await page.locator('.chart').count()) > 0) await page.locator('.chart svg').first().waitFor()
  return { page, problems, close: () => context.close() }
}
