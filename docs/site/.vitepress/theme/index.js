import DefaultTheme from 'vitepress/theme-without-fonts'
import 'katex/dist/katex.css'
import StepCode from '../../client/StepCode.vue'
import Trace from '../../client/trace/Trace.vue'
import './code.css'
import './steps.css'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component('StepCode', StepCode).component('Trace', Trace),
}
