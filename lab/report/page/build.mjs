// Bundle of the page's script and style: `node build.mjs OUT_DIR` writes page.js, page.css,
// page.sha256 and page.version. The content security policy has the hash of the script element's
// bytes. The version, a hash of both files, is part of their names in a site.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const out = process.argv[2]
await build({
  entryPoints: { page: 'src/main.ts' },
  outdir: out,
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
})
await build({ entryPoints: { page: 'src/page.css' }, outdir: out, bundle: true, minify: true, charset: 'utf8', logLevel: 'warning' })
const script = readFileSync(join(out, 'page.js'))
writeFileSync(join(out, 'page.sha256'), createHash('sha256').update(script).digest('base64'))
const style = readFileSync(join(out, 'page.css'))
writeFileSync(join(out, 'page.version'), createHash('sha256').update(script).update(style).digest('hex').slice(0, 16))
