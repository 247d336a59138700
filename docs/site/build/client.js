// What runs in the browser: client/main.js, and in files of their own what is loaded only when it is wanted.
import path from 'node:path'
import vue from '@vitejs/plugin-vue'
import { build } from 'vite'
import { ROOT } from '../project.js'

const here = path.join(ROOT, 'docs/site')

export const buildClient = (outDir) =>
  build({
    configFile: false,
    root: here,
    base: './',
    logLevel: 'warn',
    plugins: [vue()],
    publicDir: false,
    define: { __VUE_OPTIONS_API__: false, __VUE_PROD_DEVTOOLS__: false, __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: false },
    build: {
      outDir: path.join(outDir, 'client'),
      emptyOutDir: true,
      rollupOptions: {
        input: path.join(here, 'client/main.js'),
        output: { entryFileNames: '[name].js', chunkFileNames: '[name].[hash].js', assetFileNames: '[name].[hash][extname]' },
      },
    },
  })
