// Real measurements for journeys and tests of pages: repositories, the command, and its server. The
// command has a home directory of its own, and so an empty cache.

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openPage } from '../browser.mjs'

const FAULTLINE = process.env.FAULTLINE_PROGRAM ?? fileURLToPath(new URL('../../../../../target/debug/faultline', import.meta.url))

/** The repository of these tests. */
export const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))

/** Limit of a command. A guest under the lens boots within a minute on a busy machine. */
const LIMIT_MS = 600_000

export class Lab {
  place = mkdtempSync(join(tmpdir(), 'faultline-real-'))
  program = FAULTLINE
  #commands = 0
  #milliseconds = 0
  #server
  #token

  /** Adds commits `[subject, { file: text }]` to a repository, oldest first. Returns names. */
  repository(name, commits) {
    const directory = join(this.place, name)
    mkdirSync(directory, { recursive: true })
    const git = (...words) => execFileSync('git', ['-c', 'user.name=A. Uthor', '-c', 'user.email=a@example.org', ...words], { cwd: directory, encoding: 'utf8' }).trim()
    git('init', '--quiet')
    return commits.map(([subject, files]) => {
      for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
      git('add', '--all')
      git('commit', '--quiet', '--message', subject)
      return git('rev-parse', 'HEAD')
    })
  }

  /** Compiles `NAME.c` of a directory for threads. `options`: further ones of the compiler. */
  compile(directory, name, ...options) {
    execFileSync('cc', ['-O1', '-g', '-pthread', ...options, '-o', name, `${name}.c`], { cwd: join(this.place, directory) })
  }

  write(name, text) {
    writeFileSync(join(this.place, name), text)
  }

  #environment() {
    const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('XDG_')))
    return { ...kept, HOME: this.place, FAULTLINE_DB: join(this.place, 'db.sqlite'), FAULTLINE_TRUST: '1', no_proxy: '127.0.0.1' }
  }

  /**
   * Runs a command that must end with a status, and returns its output. `directory`: below our
   * place. `more`: further variables.
   */
  command(words, { status = 0, directory = '.', more = {} } = {}) {
    const begun = performance.now()
    const [program, ...rest] = words
    const options = { cwd: join(this.place, directory), env: { ...this.#environment(), ...more }, encoding: 'utf8', timeout: LIMIT_MS, stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 26 }
    const ended = spawnSync(program, rest, options)
    this.#commands += 1
    this.#milliseconds += performance.now() - begun
    assert.equal(ended.status, status, `${words.join(' ')}: ${ended.error ?? ''}${ended.stdout}${ended.stderr}`)
    return ended.stdout
  }

  /** Runs Faultline, which must succeed, and returns its output. */
  faultline(...words) {
    return this.command([this.program, ...words])
  }

  /** Number and duration of all commands so far. */
  effort() {
    return `${this.#commands} commands, ${(this.#milliseconds / 1000).toFixed(0)} s`
  }

  /** Starts the server. `asksForToken`: readers may set states and request jobs. */
  async serve({ asksForToken = false } = {}) {
    if (asksForToken) this.#token = this.faultline('serve', '--new-token', 'tokens', '--name', 'B. Uilder').match(/\b[A-Za-z0-9_-]{30,}\b/)[0]
    const words = ['serve', '--listen', '127.0.0.1:0', ...(asksForToken ? ['--token-file', 'tokens'] : [])]
    this.#commands += 1
    this.#server = spawn(this.program, words, { cwd: this.place, env: this.#environment(), stdio: ['ignore', 'pipe', 'inherit'] })
    const [line] = await once(createInterface({ input: this.#server.stdout }), 'line')
    this.address = line.match(/http:\/\/[^/ ]+/)[0]
  }

  /** The JSON of a path. */
  async asked(path) {
    const answer = await fetch(this.address + path, this.#token ? { headers: { authorization: `Bearer ${this.#token}` } } : {})
    return answer.json()
  }

  /** Opens a page. Requests to other hosts are problems. */
  open(path, options = {}) {
    const login = this.#token ? { username: 'B. Uilder', password: this.#token } : undefined
    return openPage(this.address + path, { ...options, login, offline: false, allowed: (url) => url.startsWith(`${this.address}/`) })
  }

  close() {
    this.#server?.kill()
    rmSync(this.place, { recursive: true, force: true })
  }
}
