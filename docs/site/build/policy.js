// Each page says what it may load: the site's own files, and of scripts in the page only those that VitePress wrote there.
import crypto from 'node:crypto'

const INLINE = /<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g

const hash = (script) => `'sha256-${crypto.createHash('sha256').update(script).digest('base64')}'`

export function withPolicy(html) {
  const scripts = [...new Set([...html.matchAll(INLINE)].map(([, script]) => hash(script)))]
  const policy = [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' ${scripts.join(' ')}`.trim(),
    "worker-src 'self'",
    "connect-src 'self'",
    "style-src 'self' 'unsafe-inline'", // KaTeX places the parts of a formula by style attributes
    "img-src 'self' data:", // VitePress's icons
    "object-src 'none'",
    "frame-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return html.replace(/<meta charset="utf-8">/, (charset) => `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${policy}">`)
}
