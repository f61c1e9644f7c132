// A server with a made-up database for a file of tests. Requests to other hosts are problems.

import { after, before } from 'node:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openPage } from './browser.mjs'

const PROGRAM = process.env.FAULTLINE_FIXTURE_SERVER ?? fileURLToPath(new URL('../../../../target/debug/examples/fixture_server', import.meta.url))

let server
let address
let token

/**
 * Starts the server, and ends it after the tests. `site`: a directory for an export of its pages,
 * or `--token` for a server that requires a token.
 */
export function useServer(site) {
  before(async () => {
    server = spawn(PROGRAM, site ? [site] : [], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [line] = await once(createInterface({ input: server.stdout }), 'line')
    ;[address, token] = line.split(' ')
  })
  after(() => {
    server.stdin.end()
    server.kill()
  })
}

/** The JSON of a path. */
export async function asked(path) {
  const answer = await fetch(address + path, token ? { headers: { authorization: `Bearer ${token}` } } : {})
  return answer.json()
}

/** The identifier of a history. */
export async function historyCalled(subject, tasks = 1) {
  const { histories } = await asked('/api/v1/histories')
  return histories.find((one) => one.subject.startsWith(subject) && one.tasks === tasks).id
}

/** Opens a page of the server. */
export function openOf(path, options = {}) {
  const login = token ? { username: 'B. Uilder', password: token } : undefined
  return openPage(address + path, { ...options, login, offline: false, allowed: (url) => url.startsWith(`${address}/`) })
}
