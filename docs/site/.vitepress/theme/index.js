import DefaultTheme from 'vitepress/theme-without-fonts'
import 'katex/dist/katex.css'
import EditAndRun from '../../client/EditAndRun.vue'
import FindMistake from '../../client/FindMistake.vue'
import StepCode from '../../client/StepCode.vue'
import TryProgram from '../../client/TryProgram.vue'
import Trace from '../../client/trace/Trace.vue'
import './code.css'
import './steps.css'

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component('EditAndRun', EditAndRun).component('FindMistake', FindMistake).component('StepCode', StepCode).component('Trace', Trace).component('TryProgram', TryProgram),
}
