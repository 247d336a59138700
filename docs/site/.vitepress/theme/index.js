import DefaultTheme from 'vitepress/theme-without-fonts'
import 'katex/dist/katex.css'
import EditAndRun from '../../client/EditAndRun.vue'
import Exercise from '../../client/Exercise.vue'
import ExerciseLink from '../../client/ExerciseLink.vue'
import FindMistake from '../../client/FindMistake.vue'
import StepCode from '../../client/StepCode.vue'
import TryProgram from '../../client/TryProgram.vue'
import Trace from '../../client/trace/Trace.vue'
import './code.css'
import './steps.css'

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    for (const [name, component] of Object.entries({ EditAndRun, Exercise, ExerciseLink, FindMistake, StepCode, Trace, TryProgram })) {
      app.component(name, component)
    }
  },
}
